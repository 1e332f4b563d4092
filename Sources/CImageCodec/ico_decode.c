#include <stdlib.h>
#include <string.h>

#include "icodec_bmp.h"
#include "icodec_png.h"
#include "internal.h"

// Reads icons and cursors of Windows: a list of pictures, each a PNG or a BMP without its file header. Their own headers count, and not the list's
// copies of them.

enum { list_header = 6, list_entry = 16, least_picture = 26 /* a PNG as far as its kind of colours */ };

struct icodec_ico {
    icodec_watch watch;
    icodec_png *png; // or
    icodec_bmp *bmp;
    icodec_description description;
    uint8_t *pixels; // of an interlaced PNG
    uint32_t row;
};

static uint64_t number(const uint8_t *at, int size, bool is_big) {
    uint64_t value = 0;
    for (int index = 0; index < size; index++) value = value << 8 | at[is_big ? index : size - 1 - index];
    return value;
}

static bool is_png(const uint8_t *picture) { return memcmp(picture, "\x89PNG\r\n\x1A\n", 8) == 0; }

/// The pixels of a picture, and the bits of one by its own header.
static void measure(const uint8_t *picture, uint64_t *pixels, uint64_t *bits) {
    static const uint8_t samples[7] = {1, 1, 3, 1, 2, 1, 4};
    if (is_png(picture)) {
        *pixels = number(picture + 16, 4, true) * number(picture + 20, 4, true);
        *bits = picture[24] * (picture[25] < sizeof samples ? samples[picture[25]] : 1u);
        return;
    }
    bool is_core = number(picture, 4, false) == 12;
    uint64_t width = is_core ? number(picture + 4, 2, false) : number(picture + 4, 4, false);
    uint64_t height = is_core ? number(picture + 6, 2, false) : number(picture + 8, 4, false);
    if (!is_core && height > INT32_MAX) height = UINT32_MAX - height + 1;
    *pixels = width * (height / 2);
    *bits = number(picture + (is_core ? 10 : 14), 2, false);
}

/// The best picture, or NULL. One whose header is missing may have been the best.
static const uint8_t *find(const uint8_t *bytes, size_t count, icodec_error *error) {
    if (count < list_header) {
        icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within its header");
        return NULL;
    }
    uint64_t pictures = number(bytes + 4, 2, false), most = 0, most_bits = 0;
    const uint8_t *best = NULL;
    for (uint64_t index = 0; index < pictures; index++) {
        uint64_t entry = list_header + index * list_entry;
        uint64_t place = entry + list_entry <= count ? number(bytes + entry + 12, 4, false) : count;
        if (place > count || count - place < least_picture) {
            icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image");
            return NULL;
        }
        uint64_t pixels, bits;
        measure(bytes + place, &pixels, &bits);
        if (best && (pixels < most || (pixels == most && bits <= most_bits))) continue;
        best = bytes + place, most = pixels, most_bits = bits;
    }
    if (!best) icodec_fail(error, ICODEC_CORRUPT, -1, "no picture");
    return best;
}

static bool parse(icodec_ico *ico, const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    const uint8_t *picture = find(bytes, count, error);
    if (!picture || !icodec_watch_allows(&ico->watch, error)) return false;
    // Sizes in the list are often wrong.
    size_t rest = count - (size_t)(picture - bytes);
    if (!is_png(picture)) {
        ico->bmp = icodec_bmp_open_icon(picture, rest, limits, error);
        if (!ico->bmp) return false;
        icodec_bmp_describe(ico->bmp, &ico->description);
        return true;
    }
    icodec_source source = {picture, rest, -1};
    ico->png = icodec_png_open(&source, limits, error);
    if (!ico->png) return false;
    icodec_png_describe(ico->png, &ico->description);
    ico->description.frames = 1;
    uint64_t pixels = (uint64_t)ico->description.width * ico->description.height;
    ico->description.decoded_bytes = ico->description.interlaced ? pixels * 4 : 0;
    return true;
}

icodec_ico *icodec_ico_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    icodec_ico *ico = calloc(1, sizeof *ico);
    if (!ico) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    ico->watch = limits->watch;
    if (parse(ico, bytes, count, limits, error)) return ico;
    icodec_ico_close(ico);
    return NULL;
}

void icodec_ico_describe(const icodec_ico *ico, icodec_description *description) { *description = ico->description; }

void icodec_ico_set_watch(icodec_ico *ico, const icodec_watch *watch) {
    ico->watch = *watch;
    if (ico->png) icodec_png_set_watch(ico->png, watch);
    else icodec_bmp_set_watch(ico->bmp, watch);
}

bool icodec_ico_start(icodec_ico *ico, icodec_error *error) {
    if (ico->bmp) return icodec_bmp_start(ico->bmp, error);
    if (!icodec_png_start(ico->png, error)) return false;
    if (!ico->description.interlaced) return true;
    ico->pixels = calloc(ico->description.height, (size_t)ico->description.width * 4);
    if (!ico->pixels) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    return icodec_png_image(ico->png, ico->pixels, (size_t)ico->description.width * 4, error);
}

bool icodec_ico_rows(icodec_ico *ico, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    if (ico->bmp) return icodec_bmp_rows(ico->bmp, rows, stride, count, got, error);
    *got = 0;
    if (!ico->pixels && !icodec_png_rows(ico->png, rows, stride, count, got, error)) return false;
    size_t line = (size_t)ico->description.width * 4;
    for (; ico->pixels && *got < count && ico->row + *got < ico->description.height; *got += 1)
        memcpy(rows + *got * stride, ico->pixels + (ico->row + *got) * line, line);
    bool is_over = ico->row < ico->description.height && ico->row + *got == ico->description.height;
    ico->row += *got;
    return !is_over || icodec_png_finish(ico->png, error);
}

void icodec_ico_close(icodec_ico *ico) {
    if (!ico) return;
    icodec_png_close(ico->png);
    icodec_bmp_close(ico->bmp);
    free(ico->pixels);
    free(ico);
}
