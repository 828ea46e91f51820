package codegen

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Places are numbers below an extent. Sets of them are lists, or bitmaps: those are written without reading them in order,
// and in order when they are read.

// sortPlaces writes a sort of a list.
func (e *emitter) sortPlaces(s *ir.SortPlaces) {
	e.uses.helper("list_places", ir.Scalar(s.Array.Elem))
	e.uses.helper("list_places_where_marked", ir.Scalar(s.Array.Elem))
	fn := e.uses.helper("sort_places", ir.Type{Elem: s.Array.Elem, Lanes: placesVector / s.Array.Elem.Size()})
	e.line("%s(%s, %s, %s, %s, %s);", fn, name(s.Array.Name), e.index(s.Count), name(s.Bits.Name), name(s.Words.Name), e.index(s.Extent))
}

// markPlace puts a place into a bitmap. Places are not negative, so that they are shifted where they would be divided.
func (e *emitter) markPlace(s *ir.MarkPlace) {
	bits, place := name(s.Bits.Name), e.expr(widened(s.Place), precUnary)
	if s.Bits.Elem == dtype.U8 {
		e.line("%s[%s] = 1;", bits, e.index(s.Place))
		return
	}
	e.line("%s[%s >> 6] |= (int64_t)((uint64_t)1 << (%s & 63));", bits, place, place)
	if s.Words != nil {
		e.line("%s[%s >> 6] = 1;", name(s.Words.Name), place)
	}
}

// listPlaces makes a list of a bitmap.
func (e *emitter) listPlaces(s *ir.ListPlaces) {
	fn, words := "", ""
	switch {
	case s.Bits.Elem == dtype.U8:
		fn = e.uses.helper("list_set_places", ir.Scalar(s.Array.Elem))
	case s.Words != nil:
		e.uses.helper("list_places", ir.Scalar(s.Array.Elem))
		fn, words = e.uses.helper("list_places_where_marked", ir.Scalar(s.Array.Elem)), name(s.Words.Name)+", "
	default:
		fn = e.uses.helper("list_places", ir.Scalar(s.Array.Elem))
	}
	count := ""
	if s.Count != nil {
		count = name(s.Count.Name) + " = "
	}
	e.line("%s%s(%s, %s, %s%s, %s);", count, fn, name(s.Array.Name), name(s.Bits.Name), words, e.index(s.Lo), e.index(s.Hi))
}

// listPlacesText writes four places for each word that has some, or a multiple of four, whether it has them or not, since the number of places
// in a word is hard to predict.
const listPlacesText = `/* Writes the places in a bitmap, all of them from lo to before hi, to a in order, with room for 8 more behind them, clears it, and returns their number. */
static int64_t NAME(ELEMENT *a, int64_t *bits, int64_t lo, int64_t hi)
{
    ELEMENT *const begin = a;
    for (int64_t v = lo >> 6; v * 64 < hi; v++) {
        uint64_t found = (uint64_t)bits[v];
        if (!found) {
            continue;
        }
        ELEMENT *const end = a + __builtin_popcountll(found);
        bits[v] = 0;
        do {
            for (int64_t k = 0; k < 4; k++) {
                a[k] = (ELEMENT)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                found &= found - 1;
            }
            a += 4;
        } while (a < end);
        a = end;
    }
    return a - begin;
}
`

// listSetPlacesText makes 64 bytes the bits of a word, eight at a time by a product, and writes their places as those of a bitmap.
const listSetPlacesText = `/* Writes the places whose bytes are 1, all of them from lo to before hi, to a in order, with room for 8 more behind them, clears them, and returns their number. */
static int64_t NAME(ELEMENT *a, uint8_t *set, int64_t lo, int64_t hi)
{
    ELEMENT *const begin = a;
    for (int64_t v = lo >> 6; v * 64 < hi; v++) {
        uint64_t bytes, found = 0;
        for (int64_t k = 0; k < 8; k++) {
            __builtin_memcpy(&bytes, &set[v * 64 + k * 8], 8);
            found |= bytes * 0x0102040810204080 >> 56 << 8 * k;
        }
        if (!found) {
            continue;
        }
        ELEMENT *const end = a + __builtin_popcountll(found);
        __builtin_memset(&set[v * 64], 0, 64);
        do {
            for (int64_t k = 0; k < 4; k++) {
                a[k] = (ELEMENT)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                found &= found - 1;
            }
            a += 4;
        } while (a < end);
        a = end;
    }
    return a - begin;
}
`

// listPlacesWhereMarkedText reads words of the bitmap that are not zero only, unless the range has few words: 64 bytes with a mark for each are
// made the bits of one word, eight at a time by a product. Such words have few places, so that they write two at a time.
const listPlacesWhereMarkedText = `/* The same of a bitmap whose words are marked. */
static int64_t NAME(ELEMENT *a, int64_t *bits, uint8_t *words, int64_t lo, int64_t hi)
{
    ELEMENT *const begin = a;
    if (hi - lo < 1024) {
        for (int64_t v = lo >> 6; v * 64 < hi; v++) {
            words[v] = 0;
        }
        return list_places_SCALAR(a, bits, lo, hi);
    }
    for (int64_t w = lo >> 12 << 6; w * 64 < hi; w += 64) {
        uint64_t *const marks = (uint64_t *)(words + w);
        uint64_t marked = 0;
        for (int64_t k = 0; k < 8; k++) {
            marked |= marks[k] * 0x0102040810204080 >> 56 << 8 * k;
            marks[k] = 0;
        }
        for (; marked; marked &= marked - 1) {
            const int64_t v = w + __builtin_ctzll(marked);
            uint64_t found = (uint64_t)bits[v];
            ELEMENT *const end = a + __builtin_popcountll(found);
            bits[v] = 0;
            do {
                for (int64_t k = 0; k < 2; k++) {
                    a[k] = (ELEMENT)(v * 64 + __builtin_ctzll(found | (uint64_t)1 << 63));
                    found &= found - 1;
                }
                a += 2;
            } while (a < end);
            a = end;
        }
    }
    return a - begin;
}
`

// placesVector is the size of the vectors in which short lists of places are sorted.
const placesVector = 32

// sortPlacesText counts for each of up to 64 places how many are below it, two vectors at a time: no branch depends on the places. Lists of
// up to 8 are sorted by insertion, longer lists by a bitmap. If too few of its bits would be set, the range is halved.
const sortPlacesText = `/* Sorts a[0:n]: different places below extent, with room for 8 more behind them. The bitmap is zero before and after. */
static void NAME(ELEMENT *a, int64_t n, int64_t *bits, uint8_t *words, int64_t extent)
{
    if (n > 64 && n * 4096 > extent) {
        for (int64_t i = 0; i < n; i++) {
            bits[a[i] >> 6] |= (int64_t)((uint64_t)1 << (a[i] & 63));
            words[a[i] >> 6] = 1;
        }
        list_places_where_marked_SCALAR(a, bits, words, 0, extent);
        return;
    }
    if (n > 64) {
        ELEMENT least = a[0], most = a[0];
        int64_t below = 0;
        for (int64_t i = 1; i < n; i++) {
            least = a[i] < least ? a[i] : least;
            most = a[i] > most ? a[i] : most;
        }
        const ELEMENT middle = least + (most - least) / 2;
        for (int64_t i = 0; i < n; i++) {
            const ELEMENT x = a[i];
            a[i] = a[below];
            a[below] = x;
            below += x <= middle;
        }
        NAME(a, below, bits, words, extent);
        NAME(a + below, n - below, bits, words, extent);
        return;
    }
    if (n <= 8) {
        for (int64_t i = 1; i < n; i++) {
            const ELEMENT x = a[i];
            int64_t j = i;
            for (; j > 0 && a[j - 1] > x; j--) {
                a[j] = a[j - 1];
            }
            a[j] = x;
        }
        return;
    }
    ELEMENT places[64 + 2 * WIDTH], ranks[2 * WIDTH];
    for (int64_t i = 0; i < n; i += WIDTH) {
        *(VECTOR *)&places[i] = *(const VECTOR *)&a[i];
    }
    for (int64_t i = 0; i < n; i += 2 * WIDTH) {
        const VECTOR x = *(const VECTOR *)&places[i], y = *(const VECTOR *)&places[i + WIDTH];
        VECTOR before_x = {0}, before_y = {0};
        for (int64_t j = 0; j < n; j++) {
            before_x -= places[j] - (VECTOR){0} < x;
            before_y -= places[j] - (VECTOR){0} < y;
        }
        *(VECTOR *)&ranks[0] = before_x;
        *(VECTOR *)&ranks[WIDTH] = before_y;
        for (int64_t k = 0; k < 2 * WIDTH && i + k < n; k++) {
            a[ranks[k]] = places[i + k];
        }
    }
}
`
