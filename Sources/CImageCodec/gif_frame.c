#include <stdlib.h>
#include <string.h>

#include "gif_write.h"

bool icodec_gif_writer_create(gif_writer *writer, uint32_t width, uint32_t height, const icodec_gif_options *options) {
    writer->width = width;
    writer->height = height;
    writer->dithers = options->dithers;
    writer->output.memory = options->memory;
    writer->indices = malloc((size_t)width * height);
    return icodec_gif_palettes_create(&writer->palettes, options->colors) && writer->indices;
}

void icodec_gif_writer_destroy(gif_writer *writer) {
    icodec_gif_palettes_destroy(&writer->palettes);
    free(writer->output.bytes.bytes);
    free(writer->trial.bytes.bytes);
    free(writer->indices);
    free(writer->shown);
}

/// Notes the colours that a reader shows after the frame. Returns true if pixels that it has drawn do not change any: they become
/// transparent.
static bool note_shown(gif_writer *writer, const gif_part *part, const gif_palette *palette) {
    bool changes = false;
    uint8_t *index = writer->indices;
    for (uint32_t row = 0; row < part->height; row++) {
        uint8_t(*shown)[4] = writer->shown + (size_t)(part->top + row) * writer->width + part->left;
        for (uint32_t column = 0; column < part->width; column++, index++, shown++) {
            if (*index == palette->transparent) continue;
            const uint8_t *color = palette->colors[*index];
            if ((*shown)[3] && memcmp(*shown, color, 3) == 0 && palette->transparent >= 0) {
                *index = (uint8_t)palette->transparent;
                changes = true;
            }
            memcpy(*shown, color, 3);
            (*shown)[3] = 255;
        }
    }
    return changes;
}

/// Appends the indices. Where a palette's colours have come near to those that are shown, more transparent pixels may take fewer bytes.
static bool pack(
    gif_writer *writer, const gif_part *part, const gif_palette *palette, const icodec_watch *watch,
    icodec_error *error) {
    icodec_bytes *file = &writer->output.bytes, *other = &writer->trial.bytes;
    size_t count = (size_t)part->width * part->height, start = file->count;
    uint32_t bits = icodec_gif_palette_bits(palette);
    if (!icodec_gif_pack(&writer->output, writer->indices, count, bits, watch, error)) return false;
    if (!writer->shown || !note_shown(writer, part, palette)) return true;
    other->count = 0;
    writer->trial.memory = file->count - start;
    if (!icodec_gif_pack(&writer->trial, writer->indices, count, bits, watch, error))
        return error->code == ICODEC_LIMIT && icodec_watch_allows(watch, error);
    memcpy(file->bytes + start, other->bytes, other->count);
    file->count = start + other->count;
    return true;
}

bool icodec_gif_put_frame(
    gif_writer *writer, const gif_part *part, gif_control *frame, const icodec_watch *watch, icodec_error *error) {
    gif_choice choice;
    if (!icodec_gif_choose(&writer->palettes, part, frame->is_animated, &choice, watch, error)) return false;
    bool dithers = writer->dithers && !choice.is_exact;
    if (!icodec_gif_map(part, choice.palette, dithers, writer->indices, watch, error)) return false;
    if (frame->is_animated && !writer->shown &&
        !(writer->shown = calloc((size_t)writer->width * writer->height, sizeof *writer->shown)))
        return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    frame->has_table = choice.palette != writer->palettes.global;
    if (!icodec_gif_put_header(&writer->output, part, frame, choice.palette, error)) return false;
    if (!pack(writer, part, choice.palette, watch, error)) return false;
    for (uint32_t row = 0; frame->is_cleared && row < part->height; row++)
        memset(
            writer->shown + (size_t)(part->top + row) * writer->width + part->left, 0,
            part->width * sizeof *writer->shown);
    return true;
}
