#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "icodec_png.h"
#include "libpng_calls.h"

typedef struct {
    png_structp png;
    png_infop info;
    jmp_buf jump;
    icodec_bytes bytes;
    uint8_t *row;
    bool is_done;
    icodec_error *error;
    const icodec_watch *watch;
    uint64_t memory;
} encoder;

static void on_error(png_structp png, png_const_charp message) {
    encoder *self = png_get_error_ptr(png);
    icodec_fail(self->error, ICODEC_INTERNAL, -1, "%s", message);
    longjmp(self->jump, 1);
}

static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void on_write(png_structp png, png_bytep bytes, size_t count) {
    encoder *self = png_get_io_ptr(png);
    if (self->bytes.count + count > self->memory) {
        icodec_fail(self->error, ICODEC_LIMIT, -1, "the file would take more memory than allowed");
        longjmp(self->jump, 1);
    }
    if (icodec_append(&self->bytes, bytes, count)) return;
    icodec_fail(self->error, ICODEC_MEMORY, -1, "out of memory");
    longjmp(self->jump, 1);
}

static void on_flush(png_structp png) { (void)png; }

static int depth_for(uint32_t colors) { return colors <= 2 ? 1 : colors <= 4 ? 2 : colors <= 16 ? 4 : 8; }

static void write_palette(encoder *self, const icodec_png_options *options) {
    png_color colors[256];
    png_byte alphas[256];
    int transparent = 0; // the entries before it need an alpha
    for (uint32_t index = 0; index < options->colors; index++) {
        const uint8_t *entry = options->palette + (size_t)index * 4;
        colors[index] = (png_color){entry[0], entry[1], entry[2]};
        alphas[index] = entry[3];
        if (entry[3] != 255) transparent = (int)index + 1;
    }
    png_set_PLTE(self->png, self->info, colors, (int)options->colors);
    if (transparent) png_set_tRNS(self->png, self->info, alphas, transparent, NULL);
}

static void write_header(
    encoder *self, uint32_t width, uint32_t height, const icodec_png_options *options, bool as_palette, bool as_gray) {
    int color = as_palette ? PNG_COLOR_TYPE_PALETTE
        : as_gray          ? PNG_COLOR_TYPE_GRAY
        : options->has_alpha ? PNG_COLOR_TYPE_RGB_ALPHA
                             : PNG_COLOR_TYPE_RGB;
    png_set_IHDR(
        self->png, self->info, width, height, as_palette ? depth_for(options->colors) : 8, color, PNG_INTERLACE_NONE,
        PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (as_palette) write_palette(self, options);
    if (options->icc_size)
        png_set_iCCP(
            self->png, self->info, "icc", PNG_COMPRESSION_TYPE_BASE, options->icc, (png_uint_32)options->icc_size);
    if (options->exif_size)
        png_set_eXIf_1(self->png, self->info, (png_uint_32)options->exif_size, (png_bytep)options->exif);
    png_write_info(self->png, self->info);
}

static void write_rows(
    encoder *self, const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride,
    const icodec_png_options *options, bool as_palette, bool as_gray) {
    if (as_palette) png_set_packing(self->png);
    else if (!as_gray && !options->has_alpha) png_set_filler(self->png, 0, PNG_FILLER_AFTER);
    uint32_t between = icodec_watch_step / 8 / width;
    for (uint32_t y = 0; y < height; y++) {
        if ((between < 2 || y % between == 0) && !icodec_watch_allows(self->watch, self->error))
            longjmp(self->jump, 1);
        const uint8_t *row = pixels + stride * y;
        if (as_palette) row = options->indices + (size_t)width * y;
        if (as_gray) {
            for (uint32_t x = 0; x < width; x++) self->row[x] = row[(size_t)x * 4];
            row = self->row;
        }
        png_write_row(self->png, row);
    }
}

bool icodec_png_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, const icodec_png_options *options,
    const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error) {
    if (!icodec_open_libpng(error)) return false;
    encoder *self = calloc(1, sizeof *self);
    if (!self) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    self->error = error;
    self->watch = watch;
    self->memory = options->memory;
    icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    // Gray needs no palette, unless so few of them that it takes fewer bits.
    bool as_gray = options->gray && !options->has_alpha && !(options->colors && options->colors <= 16);
    bool as_palette = options->colors > 0 && !as_gray;
    if (setjmp(self->jump) == 0) {
        self->row = malloc(width);
        self->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, self, on_error, on_warning);
        if (self->png) self->info = png_create_info_struct(self->png);
        if (self->info && self->row) {
            png_set_write_fn(self->png, self, on_write, on_flush);
            png_set_user_limits(self->png, 0x7FFFFFFF, 0x7FFFFFFF);
            png_set_benign_errors(self->png, 1);
            png_set_compression_level(self->png, options->level);
            write_header(self, width, height, options, as_palette, as_gray);
            write_rows(self, pixels, width, height, stride, options, as_palette, as_gray);
            png_write_end(self->png, self->info);
            *bytes = self->bytes.bytes;
            *count = self->bytes.count;
            self->bytes.bytes = NULL;
            self->is_done = true;
        }
    }
    png_destroy_write_struct(&self->png, &self->info);
    free(self->bytes.bytes);
    free(self->row);
    bool is_done = self->is_done;
    free(self);
    return is_done;
}
