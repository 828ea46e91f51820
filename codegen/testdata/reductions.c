typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;

static inline float max_f32(float x, float y)
{
    const float chosen = x > y ? x : y;
    return x != x ? x : chosen;
}

static inline int32_t min_i32(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

int32_t f(int64_t *slots)
{
    const int64_t n = slots[0];
    int64_t count = slots[1];
    const float *restrict x = (const float *)slots[2];
    const int32_t *restrict k = (const int32_t *)slots[3];
    float *restrict sums = (float *)slots[4];
    int32_t *restrict least = (int32_t *)slots[5];
    float s = 0.0f;
    float p = 1.0f;
    float top = -100.0f;
    int32_t low = 1073741824;
    uint8_t any = 0;
    #pragma omp simd reduction(+ : s, count) reduction(* : p) reduction(min : low) reduction(| : any)
    for (int64_t v = 0; v < n; v++) {
        s += x[v] * x[v];
        p *= 2.0f;
        low = min_i32(low, k[v]);
        any |= k[v] == 3;
        count += k[v] < 5;
    }
    for (int64_t w = 0; w < n; w++) {
        top = max_f32(top, x[w]);
    }
    sums[0] = s;
    sums[1] = p;
    sums[2] = top;
    least[0] = low;
    least[1] = (int32_t)any;
    slots[1] = count;
    return 0;
}
