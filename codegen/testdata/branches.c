typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;

int32_t f(int64_t *slots)
{
    const float *restrict x = (const float *)slots[0];
    const int32_t *restrict k = (const int32_t *)slots[1];
    int32_t *restrict got = (int32_t *)slots[2];
    got[0] = 0;
    if (!(x[0] < 0.0f)) {
        got[0] = 1;
    }
    got[1] = 0;
    if (k[0] >= 5) {
        got[1] = 1;
    }
    got[2] = 0;
    if (!(x[0] < 0.0f) && k[0] >= 5) {
        got[2] = 1;
    }
    got[3] = 0;
    if (!(x[0] < 0.0f) || k[0] >= 5) {
        got[3] = 1;
    }
    got[4] = 0;
    if (k[0] >= 5) {
        if (!(x[0] < 0.0f)) {
            got[4] = 1;
        }
    }
    return 0;
}
