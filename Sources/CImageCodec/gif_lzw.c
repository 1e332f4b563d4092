#include "gif_lzw.h"

#include <string.h>

// Less than half the time of giflib's, which asks for each byte by a call and takes each string from a stack. A code stands for the string of
// another code and one byte more. Most strings are short: they are written by one store of eight bytes, and what is behind them is
// written over by the next one. Widths grow as in giflib: with the first free code that needs another bit, up to 12.

void icodec_lzw_start(icodec_lzw *lzw, uint32_t size) {
    memset(lzw, 0, sizeof *lzw);
    lzw->clear = 1u << size;
    lzw->next = lzw->clear + 2;
    lzw->width = size + 1;
    lzw->last = -1;
    for (uint32_t code = 0; code < lzw->clear; code++) {
        lzw->length[code] = 1;
        lzw->start[code] = code;
        lzw->suffix[code] = (uint8_t)code;
    }
}

static inline void put(uint8_t *to, uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    memcpy(to, &bytes, sizeof bytes);
}

lzw_state icodec_lzw_run(
    icodec_lzw *lzw, const uint8_t **data, const uint8_t *end, uint8_t *restrict output, uint32_t wanted) {
    const uint8_t *from = *data;
    uint64_t bits = lzw->bits;
    uint32_t held = lzw->held, width = lzw->width, count = lzw->count, next = lzw->next, clear = lzw->clear;
    int32_t last = lzw->last;
    lzw_state state = lzw_enough;
    while (count < wanted) {
        if (held < width && end - from >= 4) {
            uint32_t four = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
            bits |= (uint64_t)four << held;
            held += 32;
            from += 4;
        }
        for (; held < width && from < end; held += 8) bits |= (uint64_t)*from++ << held;
        if (held < width) {
            state = lzw_more;
            break;
        }
        uint32_t code = (uint32_t)bits & ((1u << width) - 1);
        bits >>= width;
        held -= width;
        if (code == clear) {
            next = clear + 2;
            width = (uint32_t)__builtin_ctz(clear) + 1;
            last = -1;
            continue;
        }
        // The next free code is the string that it is about to become.
        if (code == clear + 1 || code > next || (last < 0 && code >= clear)) {
            state = code == clear + 1 ? lzw_end : lzw_broken;
            break;
        }
        if (last >= 0 && next < lzw_codes) {
            uint64_t start = lzw->start[last], byte = (code < next ? lzw->start[code] : start) & 0xFF;
            uint32_t length = lzw->length[last];
            lzw->start[next] = start | (length < 8 ? byte << 8 * length : 0);
            lzw->length[next] = (uint16_t)(length + 1);
            lzw->prefix[next] = (uint16_t)last;
            lzw->suffix[next] = (uint8_t)byte;
            next++;
        }
        uint32_t length = lzw->length[code];
        put(output + count, lzw->start[code]);
        for (uint32_t left = length, rest = code; left > 8; rest = lzw->prefix[rest])
            output[count + --left] = lzw->suffix[rest];
        count += length;
        last = (int32_t)code;
        if (next >= 1u << width && width < 12) width++;
    }
    *data = from;
    lzw->bits = bits;
    lzw->held = held;
    lzw->width = width;
    lzw->count = count;
    lzw->next = next;
    lzw->last = last;
    return state;
}
