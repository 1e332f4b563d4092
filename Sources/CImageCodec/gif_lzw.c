#include "gif_lzw.h"

#include <string.h>

// Several times as fast as giflib's, which asks for each byte by a call and takes each string from a stack. A code stands for the
// string of another code and one byte more. Widths grow as in giflib: with the first free code that needs another bit, up to 12.

void icodec_lzw_start(icodec_lzw *lzw, uint32_t size) {
    memset(lzw, 0, sizeof *lzw);
    lzw->clear = 1u << size;
    lzw->next = lzw->clear + 2;
    lzw->width = size + 1;
    lzw->last = -1;
    for (uint32_t code = 0; code < lzw->clear; code++) {
        lzw->length[code] = 1;
        lzw->suffix[code] = lzw->first[code] = (uint8_t)code;
    }
}

/// Adds the string of the last code with one byte more, while there is a free code.
static inline void add(icodec_lzw *lzw, uint32_t last, uint8_t byte) {
    if (lzw->next >= lzw_codes) return;
    uint32_t next = lzw->next++;
    lzw->prefix[next] = (uint16_t)last;
    lzw->length[next] = (uint16_t)(lzw->length[last] + 1);
    lzw->first[next] = lzw->first[last];
    lzw->suffix[next] = byte;
}

/// Writes the string of a code; the bytes behind it stay.
static inline uint32_t write(const icodec_lzw *lzw, uint32_t code, uint8_t *to) {
    uint32_t length = lzw->length[code];
    for (uint32_t left = length; left > 1; code = lzw->prefix[code]) to[--left] = lzw->suffix[code];
    to[0] = lzw->first[code];
    return length;
}

lzw_state icodec_lzw_run(
    icodec_lzw *lzw, const uint8_t **data, const uint8_t *end, uint8_t *restrict output, uint32_t wanted) {
    const uint8_t *from = *data;
    uint64_t bits = lzw->bits;
    uint32_t held = lzw->held, width = lzw->width, count = lzw->count, clear = lzw->clear;
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
            lzw->next = clear + 2;
            width = (uint32_t)__builtin_ctz(clear) + 1;
            last = -1;
            continue;
        }
        // The next free code is the string that it is about to become.
        if (code == clear + 1 || code > lzw->next || (last < 0 && code >= clear)) {
            state = code == clear + 1 ? lzw_end : lzw_broken;
            break;
        }
        if (last >= 0) add(lzw, (uint32_t)last, lzw->first[code < lzw->next ? code : (uint32_t)last]);
        count += write(lzw, code, output + count);
        last = (int32_t)code;
        if (lzw->next >= 1u << width && width < 12) width++;
    }
    *data = from;
    lzw->bits = bits;
    lzw->held = held;
    lzw->width = width;
    lzw->count = count;
    lzw->last = last;
    return state;
}
