#include "gif_write.h"

#include <string.h>

bool icodec_gif_put(gif_output *output, const uint8_t *bytes, size_t count) {
    return count <= output->memory && output->bytes.count <= output->memory - count &&
        icodec_append(&output->bytes, bytes, count);
}

bool icodec_gif_overflow(const gif_output *output, icodec_error *error) {
    // A block has at most 256 bytes, a table 768.
    if (output->memory < output->bytes.count + 1024)
        return icodec_fail(error, ICODEC_LIMIT, -1, "the file would take more memory than allowed");
    return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
}

static uint8_t *put_two(uint8_t *to, uint32_t value) {
    *to++ = (uint8_t)value;
    *to++ = (uint8_t)(value >> 8);
    return to;
}

/// A table has as many entries as fit into its indices' bits.
static uint8_t *put_table(uint8_t *to, const gif_palette *palette) {
    size_t size = (size_t)3 << icodec_gif_palette_bits(palette), used = (size_t)palette->count * 3;
    memcpy(to, palette->colors, used);
    memset(to + used, 0, size - used);
    return to + size;
}

size_t icodec_gif_header(
    uint8_t *to, uint32_t width, uint32_t height, const gif_palette *palette, bool is_animated, uint32_t loops) {
    uint8_t *at = to;
    memcpy(at, "GIF89a", 6);
    at = put_two(put_two(at + 6, width), height);
    *at++ = (uint8_t)(0xF0 | (icodec_gif_palette_bits(palette) - 1));
    at = put_table(put_two(at, 0), palette);
    if (is_animated && loops != 1) {
        memcpy(at, "\x21\xFF\x0BNETSCAPE2.0\x03\x01", 16);
        // Times that it is repeated; 0: for ever.
        uint32_t repeats = loops ? loops - 1 : 0;
        at = put_two(at + 16, repeats > UINT16_MAX ? UINT16_MAX : repeats);
        *at++ = 0;
    }
    return (size_t)(at - to);
}

bool icodec_gif_put_header(
    gif_output *output, const gif_part *part, const gif_control *frame, const gif_palette *palette,
    icodec_error *error) {
    uint8_t bytes[8 + 10 + 768], *at = bytes;
    enum { leave = 1, clear = 2 };
    if (frame->is_animated || palette->transparent >= 0) {
        bool is_transparent = palette->transparent >= 0;
        memcpy(at, "\x21\xF9\x04", 3);
        at[3] = (uint8_t)((frame->is_cleared ? clear : leave) << 2 | is_transparent);
        at = put_two(at + 4, frame->is_animated ? frame->delay : 0);
        *at++ = is_transparent ? (uint8_t)palette->transparent : 0;
        *at++ = 0;
    }
    *at++ = 0x2C;
    at = put_two(put_two(put_two(put_two(at, part->left), part->top), part->width), part->height);
    *at++ = frame->has_table ? (uint8_t)(0x80 | (icodec_gif_palette_bits(palette) - 1)) : 0;
    if (frame->has_table) at = put_table(at, palette);
    return icodec_gif_put(output, bytes, (size_t)(at - bytes)) || icodec_gif_overflow(output, error);
}
