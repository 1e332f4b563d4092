#include <string.h>

#include "gif_write.h"

// Own code and not giflib's EGifPutLine, which keeps a file's state between calls: a frame cannot be tried and taken back.

enum { free_slot = UINT32_MAX };

/// The state of GIF's variant of LZW (GIF89a, appendix F) in one frame.
typedef struct {
    uint32_t entries[8192]; // string and code of a table entry: 12 bits of prefix, 8 of suffix, 12 of code
    uint8_t block[256]; // its length, then data
    uint32_t next; // free code
    uint32_t width; // of a code in bits
    uint64_t bits; // not in the block yet
    uint32_t held; // of them
    gif_output *output;
} packer;

static bool flush(packer *packer) {
    bool done = !packer->block[0] || icodec_gif_put(packer->output, packer->block, packer->block[0] + 1u);
    packer->block[0] = 0;
    return done;
}

static bool put_code(packer *packer, uint32_t code) {
    packer->bits |= (uint64_t)code << packer->held;
    packer->held += packer->width;
    for (; packer->held >= 8; packer->held -= 8, packer->bits >>= 8) {
        packer->block[++packer->block[0]] = (uint8_t)packer->bits;
        if (packer->block[0] == 255 && !flush(packer)) return false;
    }
    return true;
}

/// Takes a code for the string that a reader adds when it meets the next one.
static void advance(packer *packer) {
    packer->next++;
    if (packer->next > 1u << packer->width && packer->width < 12) packer->width++;
}

static void restart(packer *packer, uint32_t size) {
    memset(packer->entries, 0xFF, sizeof packer->entries);
    packer->next = (1u << size) + 2;
    packer->width = size + 1;
}

bool icodec_gif_pack(
    gif_output *output, const uint8_t *indices, size_t count, uint32_t bits, const icodec_watch *watch,
    icodec_error *error) {
    packer packer = {.output = output};
    // One bit is stored as two.
    uint32_t size = bits < 2 ? 2 : bits, clear = 1u << size;
    uint8_t first = (uint8_t)size, last = 0;
    restart(&packer, size);
    if (!icodec_gif_put(output, &first, 1) || !put_code(&packer, clear)) return icodec_gif_overflow(output, error);
    uint32_t prefix = indices[0];
    for (size_t number = 1; number < count; number++) {
        if (number % icodec_watch_step == 0 && !icodec_watch_allows(watch, error)) return false;
        uint32_t string = prefix << 8 | indices[number], slot = string * 2654435761u >> 19;
        while (packer.entries[slot] != free_slot && packer.entries[slot] >> 12 != string) slot = (slot + 1) % 8192;
        if (packer.entries[slot] != free_slot) {
            prefix = packer.entries[slot] & 0xFFF;
            continue;
        }
        if (!put_code(&packer, prefix)) return icodec_gif_overflow(output, error);
        prefix = indices[number];
        packer.entries[slot] = string << 12 | packer.next;
        advance(&packer);
        if (packer.next < 4096) continue;
        if (!put_code(&packer, clear)) return icodec_gif_overflow(output, error);
        restart(&packer, size);
    }
    bool done = put_code(&packer, prefix);
    advance(&packer);
    done = done && put_code(&packer, clear + 1);
    // The rest of the bits, filled up with zeros.
    packer.width = 7;
    done = done && put_code(&packer, 0) && flush(&packer) && icodec_gif_put(output, &last, 1);
    return done ? true : icodec_gif_overflow(output, error);
}
