#include "gif_lzw.h"

#include <string.h>

// Takes less than half the time of giflib, which calls a function for each byte and takes each string from a stack. A code represents the
// string of another code followed by one byte. Most strings are short: the table contains them with their length, and one store of eight
// bytes writes them; the next string overwrites the excess. Code widths grow as in giflib: with the first free code that needs another bit,
// up to 12.

/// The top byte of a table entry has the length of its string in bits: the entry of one byte, and the smallest of more than seven bytes.
static const uint64_t one_byte = 8ull << 56, long_string = 64ull << 56;

void icodec_lzw_start(icodec_lzw *lzw, uint32_t size) {
    memset(lzw, 0, sizeof *lzw);
    lzw->clear = 1u << size;
    // The first string, to which there is none before, takes the code of the end.
    lzw->next = lzw->clear + 1;
    lzw->width = size + 1;
    for (uint32_t code = 0; code < lzw->clear; code++) lzw->strings[code] = one_byte | code;
}

static inline uint64_t little_endian(uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(bytes);
#else
    return bytes;
#endif
}

static inline uint64_t get(const uint8_t *from) {
    uint64_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    return little_endian(bytes);
}

static inline void put(uint8_t *to, uint64_t bytes) {
    bytes = little_endian(bytes);
    memcpy(to, &bytes, sizeof bytes);
}

/// Gives a code to a string of seven bytes or more, and one more.
static void add_long(icodec_lzw *lzw, uint32_t code, uint64_t string, uint32_t prefix, uint8_t byte) {
    bool is_first = string < long_string;
    lzw->strings[code] = is_first ? string + one_byte : string;
    lzw->length[code] = is_first ? 8 : (uint16_t)(lzw->length[prefix] + 1);
    lzw->prefix[code] = (uint16_t)prefix;
    lzw->suffix[code] = byte;
}

/// Gives a code to a string and one byte more.
static inline void add(icodec_lzw *lzw, uint32_t code, uint64_t string, uint32_t prefix, uint8_t byte) {
    uint32_t bits = (uint32_t)(string >> 56);
    if (bits < 56) lzw->strings[code] = (string + one_byte) | (uint64_t)byte << bits;
    else add_long(lzw, code, string, prefix, byte);
}

/// Writes the rest of a string after its first seven bytes, and returns its length.
static uint32_t put_long(const icodec_lzw *lzw, uint32_t code, uint8_t *to) {
    uint32_t length = lzw->length[code];
    for (uint32_t left = length; left > 7; code = lzw->prefix[code]) to[--left] = lzw->suffix[code];
    return length;
}

/// Writes the string of a code; returns its length.
static inline uint32_t put_string(const icodec_lzw *lzw, uint32_t code, uint64_t string, uint8_t *to) {
    put(to, string);
    return string < long_string ? (uint32_t)(string >> 59) : put_long(lzw, code, to);
}

lzw_state icodec_lzw_run(
    icodec_lzw *lzw, const uint8_t **data, const uint8_t *end, uint8_t *restrict output, uint32_t wanted) {
    const uint8_t *from = *data;
    uint64_t bits = lzw->bits, last_string = lzw->last_string;
    uint32_t held = lzw->held, width = lzw->width, count = lzw->count, next = lzw->next, last = lzw->last;
    const uint32_t clear = lzw->clear;
    lzw_state state = lzw_enough;
    while (count < wanted) {
        if (held < width && end - from >= 8) {
            // Adds as many whole bytes as fit. Partial bytes in the upper bits are read again next time.
            bits |= get(from) << held;
            from += (63 - held) / 8;
            held |= 56;
        }
        for (; held < width && from < end; held += 8) bits |= (uint64_t)*from++ << held;
        if (held < width) {
            state = lzw_more;
            break;
        }
        uint32_t code = (uint32_t)bits & ((1u << width) - 1);
        bits >>= width;
        held -= width;
        if (code - clear <= 1) {
            if (code > clear) {
                state = lzw_end;
                break;
            }
            next = clear + 1;
            width = (uint32_t)__builtin_ctz(clear) + 1;
            last_string = 0;
            continue;
        }
        if (code > next) {
            state = lzw_broken;
            break;
        }
        // The next free code is the string that it is about to become: the string of the last code followed by its own first byte.
        uint64_t string = code < next ? lzw->strings[code] : last_string;
        if (next < lzw_codes) {
            add(lzw, next, last_string, last, (uint8_t)string);
            if (code == next) string = lzw->strings[code];
            next++;
            if (next >> width && width < 12) width++;
        }
        count += put_string(lzw, code, string, output + count);
        last_string = string;
        last = code;
    }
    *data = from;
    lzw->bits = bits;
    lzw->held = held;
    lzw->width = width;
    lzw->count = count;
    lzw->next = next;
    lzw->last = last;
    lzw->last_string = last_string;
    return state;
}
