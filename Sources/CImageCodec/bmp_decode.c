#include <stdlib.h>
#include <string.h>

#include "icodec_bmp.h"
#include "internal.h"

// Reads BMPs without a library. Every position is counted in 64 bits, and compared with the length of the file before it is read.

enum { file_header = 14, core_header = 12, v5_header = 124, profile_embedded = 0x4D424544 };

enum {
    bi_rgb,
    bi_rle8,
    bi_rle4,
    bi_bitfields,
    bi_alphabitfields = 6,
};

/// One of red, green, blue and alpha in a pixel of 16 or 32 bits.
typedef struct channel {
    uint32_t mask;
    uint32_t shift; // of the value's upper eight bits, or of all of it
    uint8_t values[256];
} channel;

struct icodec_bmp {
    const uint8_t *bytes;
    size_t count;
    icodec_limits limits;
    icodec_watch watch;
    bool is_icon, is_top_down, has_alpha;
    uint32_t width, height, bits, compression;
    uint64_t pixels; // position in the bytes
    uint64_t line; // bytes of a row with its padding
    channel channels[4];
    uint8_t colors[256][4];
    const uint8_t *mask; // of an icon's transparent pixels, or NULL
    const uint8_t *profile; // or NULL
    size_t profile_size;
    uint8_t *indices; // of runs, in the order of the file
    uint32_t row;
};

static uint32_t u16(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8; }

static uint32_t u32(const uint8_t *at) { return u16(at) | u16(at + 2) << 16; }

static bool fail_short(icodec_error *error) {
    return icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image");
}

static bool fail(icodec_error *error, const char *reason) { return icodec_fail(error, ICODEC_CORRUPT, -1, "%s", reason); }

/// Sets up a channel whose bits are adjacent.
static bool set_channel(channel *channel, uint32_t mask, icodec_error *error) {
    *channel = (struct channel){0};
    channel->mask = mask;
    if (mask == 0) return true;
    uint32_t low = (uint32_t)__builtin_ctz(mask), ones = mask >> low;
    if (ones & (ones + 1)) return fail(error, "a colour whose bits are not adjacent");
    uint32_t width = (uint32_t)__builtin_popcount(mask);
    channel->shift = width > 8 ? low + width - 8 : low;
    uint32_t largest = width > 8 ? 255 : ones;
    for (uint32_t value = 0; value <= largest; value++)
        channel->values[value] = (uint8_t)((value * 255 + largest / 2) / largest);
    return true;
}

static uint8_t channel_value(const channel *channel, uint32_t pixel) {
    return channel->values[(pixel & channel->mask) >> channel->shift & 255];
}

/// Reads the size, which core headers have in 16 bits.
static bool take_size(icodec_bmp *bmp, const uint8_t *header, bool is_core, icodec_error *error) {
    int64_t width = is_core ? (int64_t)u16(header + 4) : (int32_t)u32(header + 4);
    int64_t height = is_core ? (int64_t)u16(header + 6) : (int32_t)u32(header + 8);
    bmp->is_top_down = height < 0;
    if (height < 0) height = -height;
    if (bmp->is_icon) height /= 2;
    if (width < 0) return fail(error, "a negative width");
    if (!icodec_check_size(&bmp->limits, (uint64_t)width, (uint64_t)height, error)) return false;
    bmp->width = (uint32_t)width;
    bmp->height = (uint32_t)height;
    return true;
}

static bool check_compression(const icodec_bmp *bmp, bool is_os2, icodec_error *error) {
    uint32_t bits = bmp->bits;
    switch (bmp->compression) {
    case bi_rgb:
        if (bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32) return true;
        break;
    case bi_rle8:
    case bi_rle4:
        if (bmp->is_icon) return fail(error, "an icon with runs");
        if (bits == (bmp->compression == bi_rle8 ? 8 : 4)) return true;
        break;
    case bi_bitfields:
    case bi_alphabitfields:
        if (!is_os2 && (bits == 16 || bits == 32)) return true;
        break;
    default: break;
    }
    return icodec_fail(
        error, ICODEC_UNSUPPORTED, -1, "BMP of a kind that is not read: compression %u, %u bits", bmp->compression, bits);
}

/// Sets up the channels of 16 and 32 bits, of which an icon's 32 have alpha.
static bool take_channels(icodec_bmp *bmp, const uint8_t *masks, uint32_t count, icodec_error *error) {
    static const uint32_t of16[4] = {0x7C00, 0x3E0, 0x1F, 0}, of32[4] = {0xFF0000, 0xFF00, 0xFF, 0};
    for (uint32_t index = 0; index < 4; index++) {
        uint32_t mask = bmp->bits == 16 ? of16[index] : of32[index];
        if (count) mask = index < count ? u32(masks + index * 4) : 0;
        else if (index == 3 && bmp->is_icon && bmp->bits == 32) mask = 0xFF000000;
        if (bmp->bits == 16) mask &= 0xFFFF;
        if (!set_channel(&bmp->channels[index], mask, error)) return false;
    }
    bmp->has_alpha = bmp->channels[3].mask != 0;
    return true;
}

/// Reads the palette, which ends where the pixels begin. Numbers without a colour are black.
static void take_colors(icodec_bmp *bmp, uint64_t start, uint64_t count, uint32_t size) {
    for (uint32_t index = 0; index < 256; index++) {
        uint64_t at = start + (uint64_t)index * size;
        bool is_there = index < count && at + size <= bmp->pixels && at + size <= bmp->count;
        const uint8_t *from = is_there ? bmp->bytes + at : (const uint8_t *)"\0\0\0";
        uint8_t color[4] = {from[2], from[1], from[0], 255};
        memcpy(bmp->colors[index], color, 4);
    }
}

/// Finds the profile that a header of version 5 names. One that ends behind the file is not used.
static void take_profile(icodec_bmp *bmp, size_t start) {
    const uint8_t *header = bmp->bytes + start;
    uint64_t place = u32(header + 112), size = u32(header + 116), rest = bmp->count - start;
    if (u32(header + 56) != profile_embedded || place > rest || size > rest - place || size > bmp->limits.ancillary) return;
    bmp->profile = header + place;
    bmp->profile_size = (size_t)size;
}

/// Reads all before the pixels, from the position of the header behind the file header.
static bool parse(icodec_bmp *bmp, size_t start, icodec_error *error) {
    if (bmp->count < start + core_header) return fail_short(error);
    const uint8_t *header = bmp->bytes + start;
    uint32_t size = u32(header);
    bool is_core = size == core_header;
    if (!is_core && size != 40 && size != 52 && size != 56 && size != 64 && size != 108 && size != v5_header)
        return fail(error, "a header of an unknown length");
    if (bmp->count - start < size) return fail_short(error);
    if (!take_size(bmp, header, is_core, error)) return false;
    bmp->bits = u16(header + (is_core ? 10 : 14));
    bmp->compression = is_core ? bi_rgb : u32(header + 16);
    if (!check_compression(bmp, size == 64, error)) return false;
    uint64_t end = start + size, used = is_core ? 0 : u32(header + 32);
    bool has_masks = bmp->compression == bi_bitfields || bmp->compression == bi_alphabitfields;
    uint32_t masks = !has_masks ? 0 : size >= 56 || bmp->compression == bi_alphabitfields ? 4 : 3;
    // The masks follow a header that does not contain them.
    if (has_masks && size < 56) {
        uint64_t behind = (uint64_t)start + 40 + masks * 4;
        if (behind > end) end = behind;
        if (end > bmp->count) return fail_short(error);
    }
    if (bmp->bits > 8 && !take_channels(bmp, header + 40, masks, error)) return false;
    if (bmp->bits <= 8 && (used == 0 || used > 1u << bmp->bits)) used = 1u << bmp->bits;
    uint32_t color = is_core ? 3 : 4;
    bmp->pixels = bmp->is_icon ? end + used * color : u32(bmp->bytes + 10);
    if (bmp->pixels < end) return fail(error, "pixels within the header");
    if (bmp->bits <= 8) take_colors(bmp, end, used, color);
    bmp->line = ((uint64_t)bmp->width * bmp->bits + 31) / 32 * 4;
    if (size == v5_header) take_profile(bmp, start);
    return true;
}

static icodec_bmp *open(
    const uint8_t *bytes, size_t count, bool is_icon, const icodec_limits *limits, icodec_error *error) {
    icodec_bmp *bmp = calloc(1, sizeof *bmp);
    if (!bmp) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    bmp->bytes = bytes;
    bmp->count = count;
    bmp->is_icon = is_icon;
    bmp->limits = *limits;
    bmp->watch = limits->watch;
    if (icodec_watch_allows(&bmp->watch, error) && parse(bmp, is_icon ? 0 : file_header, error)) return bmp;
    icodec_bmp_close(bmp);
    return NULL;
}

icodec_bmp *icodec_bmp_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    return open(bytes, count, false, limits, error);
}

icodec_bmp *icodec_bmp_open_icon(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    return open(bytes, count, true, limits, error);
}

static bool has_runs(const icodec_bmp *bmp) { return bmp->compression == bi_rle8 || bmp->compression == bi_rle4; }

void icodec_bmp_describe(const icodec_bmp *bmp, icodec_description *description) {
    memset(description, 0, sizeof *description);
    description->width = bmp->width;
    description->height = bmp->height;
    description->has_alpha = bmp->has_alpha || bmp->is_icon;
    description->components = bmp->bits <= 8 ? 1 : description->has_alpha ? 4 : 3;
    description->bit_depth = bmp->bits <= 8 ? bmp->bits : bmp->bits == 16 ? 5 : 8;
    description->frames = 1;
    description->says_srgb = true;
    description->icc = bmp->profile;
    description->icc_size = bmp->profile_size;
    description->decoded_bytes = has_runs(bmp) ? (uint64_t)bmp->width * bmp->height : 0;
}

void icodec_bmp_set_watch(icodec_bmp *bmp, const icodec_watch *watch) { bmp->watch = *watch; }

/// The bytes of the rows in the file, of the last of which the padding may be missing; of so many bits a pixel.
static uint64_t rows_size(const icodec_bmp *bmp, uint64_t line, uint32_t bits) {
    return line * (bmp->height - 1) + ((uint64_t)bmp->width * bits + 7) / 8;
}

/// Sets so many pixels of a row, as far as it reaches: of one number, or of the two that follow each other.
static void set_run(const icodec_bmp *bmp, uint32_t row, uint32_t *column, uint32_t count, uint8_t first, uint8_t second) {
    uint8_t *to = bmp->indices + (size_t)row * bmp->width;
    for (uint32_t index = 0; index < count && *column < bmp->width; index++, *column += 1) to[*column] = index & 1 ? second : first;
}

/// Decodes runs; pixels that none has set have the first colour.
static bool read_runs(icodec_bmp *bmp, icodec_error *error) {
    const uint8_t *at = bmp->bytes + bmp->pixels, *end = bmp->bytes + bmp->count;
    bool is_half = bmp->compression == bi_rle4;
    uint32_t column = 0, row = 0;
    for (uint32_t number = 1; row < bmp->height; number++) {
        if (number % 4096 == 0 && !icodec_watch_allows(&bmp->watch, error)) return false;
        // All pixels may be there without the mark of their end.
        if (end - at < 2) return row == bmp->height - 1 && column >= bmp->width ? true : fail_short(error);
        uint32_t count = at[0], value = at[1];
        at += 2;
        if (count) {
            set_run(bmp, row, &column, count, (uint8_t)(is_half ? value >> 4 : value), (uint8_t)(is_half ? value & 15 : value));
        } else if (value == 0) {
            column = 0;
            row++;
        } else if (value == 1) {
            return true;
        } else if (value == 2) {
            if (end - at < 2) return fail_short(error);
            column += at[0];
            row += at[1];
            at += 2;
            if (column > bmp->width) column = bmp->width;
        } else {
            // Pixels as they are, in an even number of bytes.
            uint32_t size = is_half ? (value + 1) / 2 : value;
            if ((size_t)(end - at) < size) return fail_short(error);
            for (uint32_t index = 0; index < value; index++) {
                uint8_t byte = at[is_half ? index / 2 : index];
                uint8_t pixel = !is_half ? byte : (uint8_t)(index & 1 ? byte & 15 : byte >> 4);
                set_run(bmp, row, &column, 1, pixel, pixel);
            }
            at += size;
            if (size & 1 && at < end) at++;
        }
    }
    return true;
}

static uint32_t pixel_at(const icodec_bmp *bmp, const uint8_t *line, uint32_t column) {
    return bmp->bits == 16 ? u16(line + (size_t)column * 2) : u32(line + (size_t)column * 4);
}

/// True if a pixel is not transparent. Writers that do not know alpha leave 0 there.
static bool uses_alpha(const icodec_bmp *bmp, bool *uses, icodec_error *error) {
    uint32_t between = icodec_watch_step / bmp->width + 1, mask = bmp->channels[3].mask;
    for (uint32_t row = 0; row < bmp->height; row++) {
        if (row % between == 0 && !icodec_watch_allows(&bmp->watch, error)) return false;
        const uint8_t *line = bmp->bytes + bmp->pixels + row * bmp->line;
        for (uint32_t column = 0; column < bmp->width; column++) {
            *uses = pixel_at(bmp, line, column) & mask;
            if (*uses) return true;
        }
    }
    return true;
}

bool icodec_bmp_start(icodec_bmp *bmp, icodec_error *error) {
    if (!icodec_watch_allows(&bmp->watch, error)) return false;
    if (bmp->pixels > bmp->count) return fail_short(error);
    uint64_t rest = bmp->count - bmp->pixels;
    if (has_runs(bmp)) {
        bmp->indices = calloc(bmp->height, bmp->width);
        return bmp->indices ? read_runs(bmp, error) : icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    }
    if (rest < rows_size(bmp, bmp->line, bmp->bits)) return fail_short(error);
    bool has_alpha = false;
    if (bmp->channels[3].mask && !uses_alpha(bmp, &has_alpha, error)) return false;
    bmp->has_alpha = has_alpha;
    if (!bmp->is_icon || has_alpha) return true;
    uint64_t colors = bmp->line * bmp->height, line = ((uint64_t)bmp->width + 31) / 32 * 4;
    if (rest < colors || rest - colors < rows_size(bmp, line, 1)) return fail_short(error);
    bmp->mask = bmp->bytes + bmp->pixels + colors;
    return true;
}

static void paint(const icodec_bmp *bmp, const uint8_t *line, uint8_t *to) {
    uint32_t bits = bmp->bits;
    for (uint32_t column = 0; column < bmp->width; column++, to += 4) {
        if (bits == 24) {
            const uint8_t *from = line + (size_t)column * 3;
            to[0] = from[2], to[1] = from[1], to[2] = from[0], to[3] = 255;
        } else if (bits > 8) {
            uint32_t pixel = pixel_at(bmp, line, column);
            for (int index = 0; index < 3; index++) to[index] = channel_value(&bmp->channels[index], pixel);
            to[3] = bmp->has_alpha ? channel_value(&bmp->channels[3], pixel) : 255;
        } else {
            size_t bit = (size_t)column * bits;
            uint32_t number = bmp->indices ? line[column] : line[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
            memcpy(to, bmp->colors[number], 4);
        }
    }
}

bool icodec_bmp_rows(icodec_bmp *bmp, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    uint32_t between = icodec_watch_step / bmp->width + 1;
    size_t mask_line = ((size_t)bmp->width + 31) / 32 * 4;
    for (*got = 0; *got < count && bmp->row < bmp->height; *got += 1, bmp->row++) {
        if (bmp->row % between == 0 && !icodec_watch_allows(&bmp->watch, error)) return false;
        uint8_t *to = rows + *got * stride;
        size_t row = bmp->is_top_down ? bmp->row : bmp->height - 1 - bmp->row;
        paint(bmp, bmp->indices ? bmp->indices + row * bmp->width : bmp->bytes + bmp->pixels + row * bmp->line, to);
        const uint8_t *mask = bmp->mask ? bmp->mask + row * mask_line : NULL;
        for (uint32_t column = 0; mask && column < bmp->width; column++)
            if (mask[column / 8] >> (7 - column % 8) & 1) memset(to + (size_t)column * 4, 0, 4);
    }
    return true;
}

void icodec_bmp_close(icodec_bmp *bmp) {
    if (!bmp) return;
    free(bmp->indices);
    free(bmp);
}
