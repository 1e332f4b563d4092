#include <stdlib.h>
#include <string.h>

#include "gif_internal.h"

// Reading a GIF's blocks with giflib, and the pixels in them with a decoder of our own. giflib's functions for whole files (DGifSlurp) would
// keep every frame in memory.

/// giflib's source of bytes. Single ones after the end of the file are zeros, which end each list of blocks: a file that is cut
/// behind its last pixel is whole.
static int on_read(GifFileType *file, GifByteType *bytes, int count) {
    icodec_gif *gif = file->UserData;
    int done = 0;
    while (done < count) {
        if (gif->window_used == gif->window_count) {
            ssize_t got = icodec_read(&gif->source, gif->window_end, gif->window, sizeof gif->window);
            if (got <= 0) {
                gif->has_failed = got < 0;
                gif->has_ended = true;
                if (count > 1) return done;
                bytes[0] = 0;
                return 1;
            }
            gif->window_used = 0;
            gif->window_count = (size_t)got;
            gif->window_end += (uint64_t)got;
        }
        size_t part = gif->window_count - gif->window_used;
        if (part > (size_t)(count - done)) part = (size_t)(count - done);
        memcpy(bytes + done, gif->window + gif->window_used, part);
        gif->window_used += part;
        done += (int)part;
    }
    return count;
}

static bool fail(icodec_gif *gif, icodec_error *error) {
    int64_t offset = (int64_t)(gif->window_end - (gif->window_count - gif->window_used));
    if (gif->has_failed) return icodec_fail(error, ICODEC_IO, offset, "the file cannot be read");
    if (gif->has_ended) return icodec_fail(error, ICODEC_TRUNCATED, offset, "the file ends within the image");
    int code = gif->file ? gif->file->Error : 0;
    if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    const char *reason = code ? GifErrorString(code) : NULL;
    return icodec_fail(error, ICODEC_CORRUPT, offset, "%s", reason ? reason : "not a valid GIF");
}

/// Counts a block of data. Encoders use nearly all of the 255 bytes that a block may have.
static bool count_block(icodec_gif *gif, icodec_error *error) {
    if (++gif->blocks > icodec_most_items + gif->source.size / 64)
        return icodec_fail(error, ICODEC_LIMIT, -1, "too many small blocks of data");
    return gif->blocks % 4096 != 0 || icodec_watch_allows(&gif->watch, error);
}

/// Reads the needed parts of an extension, and skips the rest.
static bool read_extension(icodec_gif *gif, GraphicsControlBlock *control, icodec_error *error) {
    int code = 0;
    GifByteType *block = NULL;
    if (DGifGetExtension(gif->file, &code, &block) != GIF_OK) return fail(gif, error);
    if (code == GRAPHICS_EXT_FUNC_CODE && block) DGifExtensionToGCB(block[0], block + 1, control);
    bool counts_loops = code == APPLICATION_EXT_FUNC_CODE && block && block[0] == 11 &&
        (memcmp(block + 1, "NETSCAPE2.0", 11) == 0 || memcmp(block + 1, "ANIMEXTS1.0", 11) == 0);
    while (block) {
        if (!count_block(gif, error)) return false;
        if (DGifGetExtensionNext(gif->file, &block) != GIF_OK) return fail(gif, error);
        if (counts_loops && block && block[0] >= 3 && block[1] == 1) {
            uint32_t repeats = block[2] | (uint32_t)block[3] << 8;
            gif->loops = repeats ? repeats + 1 : 0;
        }
    }
    return true;
}

static void take_frame(icodec_gif *gif, const GraphicsControlBlock *control) {
    const GifImageDesc *image = &gif->file->Image;
    gif_frame *frame = &gif->frame;
    frame->left = (uint32_t)image->Left;
    frame->top = (uint32_t)image->Top;
    frame->width = (uint32_t)image->Width;
    frame->height = (uint32_t)image->Height;
    frame->is_interlaced = image->Interlace;
    frame->disposal = control->DisposalMode;
    frame->delay = (uint32_t)control->DelayTime;
    const ColorMapObject *map = image->ColorMap ? image->ColorMap : gif->file->SColorMap;
    // Indices without a colour are black.
    for (int index = 0; index < 256; index++) {
        GifColorType color = {0, 0, 0};
        if (map && index < map->ColorCount) color = map->Colors[index];
        uint8_t *entry = frame->colors[index];
        entry[0] = color.Red, entry[1] = color.Green, entry[2] = color.Blue, entry[3] = 255;
    }
    int transparent = control->TransparentColor;
    frame->is_transparent = transparent >= 0 && transparent < 256;
    if (frame->is_transparent) memset(frame->colors[transparent], 0, 4);
    gif->next = 0;
}

int icodec_gif_next_header(icodec_gif *gif, icodec_error *error) {
    GraphicsControlBlock control = {.TransparentColor = NO_TRANSPARENT_COLOR};
    for (uint32_t number = 1;; number++) {
        GifRecordType type = UNDEFINED_RECORD_TYPE;
        if (!icodec_work_on(&gif->work, 0, error)) return gif_failed;
        if (number % 256 == 0 && !icodec_watch_allows(&gif->watch, error)) return gif_failed;
        if (DGifGetRecordType(gif->file, &type) != GIF_OK || type == TERMINATE_RECORD_TYPE) break;
        if (type == EXTENSION_RECORD_TYPE) {
            if (!read_extension(gif, &control, error)) {
                bool is_broken = error->code == ICODEC_CORRUPT || error->code == ICODEC_TRUNCATED;
                return is_broken ? gif_end : gif_failed;
            }
        } else if (type == IMAGE_DESC_RECORD_TYPE) {
            if (DGifGetImageHeader(gif->file) != GIF_OK) break;
            take_frame(gif, &control);
            return gif_found;
        }
    }
    fail(gif, error);
    return gif_end;
}

/// Passes over the blocks of data behind one.
static bool skip_blocks(icodec_gif *gif, GifByteType *block, icodec_error *error) {
    while (block) {
        if (!count_block(gif, error)) return false;
        if (DGifGetCodeNext(gif->file, &block) != GIF_OK) return fail(gif, error);
    }
    return true;
}

bool icodec_gif_skip_pixels(icodec_gif *gif, icodec_error *error) {
    int size = 0;
    GifByteType *block = NULL;
    if (DGifGetCode(gif->file, &size, &block) != GIF_OK) return fail(gif, error);
    return skip_blocks(gif, block, error);
}

bool icodec_gif_count(icodec_gif *gif, icodec_description *description, icodec_error *error) {
    bool is_over = false;
    while (!is_over) {
        is_over = !icodec_gif_skip_pixels(gif, error) || icodec_gif_next_header(gif, error) != gif_found;
        if (is_over || description->frames == UINT32_MAX) break;
        description->frames += 1;
        description->milliseconds += icodec_gif_milliseconds(&gif->frame);
    }
    // It may stand behind the first frame.
    description->loops = gif->loops;
    return !is_over || (error->code != ICODEC_LIMIT && error->code != ICODEC_CANCELLED);
}

uint32_t icodec_gif_milliseconds(const gif_frame *frame) { return frame->delay > 1 ? frame->delay * 10 : 100; }

uint32_t icodec_gif_row_position(const gif_frame *frame, uint32_t number) {
    if (!frame->is_interlaced) return number;
    static const struct {
        uint32_t first, step;
    } passes[4] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    for (int pass = 0; pass < 4; pass++) {
        uint32_t first = passes[pass].first, step = passes[pass].step;
        uint32_t rows = frame->height > first ? (frame->height - first + step - 1) / step : 0;
        if (number < rows) return first + number * step;
        number -= rows;
    }
    return 0;
}

/// Fails because of the data of a frame.
static bool break_off(icodec_gif *gif, const char *reason, icodec_error *error) {
    if (gif->has_failed || gif->has_ended) return fail(gif, error);
    return icodec_fail(error, ICODEC_CORRUPT, -1, "%s", reason);
}

static bool take_block(icodec_gif *gif, const GifByteType *block, icodec_error *error) {
    if (!block) return break_off(gif, "the data end before the image does", error);
    gif->data = block + 1;
    gif->data_end = gif->data + block[0];
    return true;
}

static bool start_pixels(icodec_gif *gif, icodec_error *error) {
    int size = 0;
    GifByteType *block = NULL;
    if (!gif->lzw) gif->lzw = malloc(sizeof *gif->lzw);
    if (!gif->decoded) gif->decoded = malloc(UINT16_MAX + lzw_slack);
    if (!gif->lzw || !gif->decoded) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (DGifGetCode(gif->file, &size, &block) != GIF_OK) return fail(gif, error);
    if (size < 0 || size > 8) return break_off(gif, "pixels of more than 8 bits", error);
    icodec_lzw_start(gif->lzw, (uint32_t)size);
    return take_block(gif, block, error);
}

/// Decodes until there is a whole row.
static bool decode_row(icodec_gif *gif, icodec_error *error) {
    GifByteType *block = NULL;
    for (;;) {
        lzw_state state = icodec_lzw_run(gif->lzw, &gif->data, gif->data_end, gif->decoded, gif->frame.width);
        if (state == lzw_enough) return true;
        if (state != lzw_more)
            return break_off(gif, state == lzw_end ? "the image ends early" : "an invalid code", error);
        if (!count_block(gif, error)) return false;
        if (DGifGetCodeNext(gif->file, &block) != GIF_OK) return fail(gif, error);
        if (!take_block(gif, block, error)) return false;
    }
}

const uint8_t *icodec_gif_read_row(icodec_gif *gif, icodec_error *error) {
    uint32_t width = gif->frame.width;
    if (gif->next) {
        gif->lzw->count -= width;
        memmove(gif->decoded, gif->decoded + width, gif->lzw->count);
    } else if (!start_pixels(gif, error)) {
        return NULL;
    }
    if (!decode_row(gif, error)) return NULL;
    gif->next++;
    if (gif->next < gif->frame.height) return gif->decoded;
    GifByteType *block = NULL;
    bool is_over = DGifGetCodeNext(gif->file, &block) == GIF_OK ? skip_blocks(gif, block, error) : fail(gif, error);
    return is_over ? gif->decoded : NULL;
}

static bool start(icodec_gif *gif, icodec_error *error) {
    int code = 0;
    gif->file = DGifOpen(gif, on_read, &code);
    if (!gif->file) {
        if (code == D_GIF_ERR_NOT_ENOUGH_MEM) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return fail(gif, error);
    }
    if (icodec_gif_next_header(gif, error) != gif_found) return false;
    const gif_frame *frame = &gif->frame;
    if (!frame->width || !frame->height)
        return icodec_fail(error, ICODEC_CORRUPT, -1, "no pixels: a frame of %u x %u", frame->width, frame->height);
    gif->width = frame->left + frame->width;
    gif->height = frame->top + frame->height;
    if ((uint32_t)gif->file->SWidth > gif->width) gif->width = (uint32_t)gif->file->SWidth;
    if ((uint32_t)gif->file->SHeight > gif->height) gif->height = (uint32_t)gif->file->SHeight;
    return icodec_check_size(&gif->limits, gif->width, gif->height, error);
}

icodec_gif *icodec_gif_open(const icodec_source *source, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_open_libgif(error)) return NULL;
    icodec_gif *gif = calloc(1, sizeof *gif);
    if (!gif) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    gif->source = *source;
    gif->limits = *limits;
    gif->watch = limits->watch;
    gif->loops = 1;
    if (start(gif, error)) return gif;
    icodec_gif_close(gif);
    return NULL;
}

void icodec_gif_set_watch(icodec_gif *gif, const icodec_watch *watch) { gif->watch = *watch; }

void icodec_gif_close(icodec_gif *gif) {
    if (!gif) return;
    int code;
    if (gif->file) DGifCloseFile(gif->file, &code);
    free(gif->indices);
    free(gif->are_read);
    free(gif->saved);
    free(gif->lzw);
    free(gif->decoded);
    free(gif);
}
