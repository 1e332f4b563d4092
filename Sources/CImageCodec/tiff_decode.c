#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "icodec_tiff.h"
#include "libtiff_calls.h"

/// Strips or tiles of one image, for each of which libtiff keeps a place and a length.
enum { most_parts = 1 << 20, most_samples = 32 };

/// Larger sizes are not distinguished.
static const uint64_t most_bytes = (uint64_t)1 << 40;

typedef enum {
    as_gray,
    as_palette,
    as_rgb,
    as_converted, // by libtiff
} tiff_kind;

struct icodec_tiff {
    const uint8_t *bytes;
    size_t count;
    uint64_t position; // of libtiff in the bytes
    icodec_limits limits;
    icodec_watch watch;
    icodec_tiff_directory directory;
    TIFF *tif;
    tiff_kind kind;
    uint32_t width, height;
    uint16_t bits, samples, photometric, compression, orientation;
    bool is_tiled, is_separate, is_associated;
    uint32_t alpha; // the sample that has it; 0: none
    uint32_t tile_width, band_rows; // the rows of a strip or a tile
    uint64_t raw_size; // of a row, a strip or a tile as libtiff returns it
    uint8_t *raw;
    uint8_t *values; // of a row: samples of 8 bits
    uint8_t *band; // R, G, B, A of the rows of a strip or of all tiles beside each other; NULL if rows are read one by one
    uint32_t band_end; // the row of the image behind it
    uint32_t row;
    TIFFRGBAImage converter;
    bool has_converter;
    uint8_t colors[256][4];
    char message[160]; // of libtiff
};

// MARK: libtiff's view of the file

static tmsize_t on_read(thandle_t handle, void *into, tmsize_t count) {
    icodec_tiff *tiff = handle;
    if (count <= 0 || tiff->position >= tiff->count) return 0;
    size_t rest = tiff->count - (size_t)tiff->position, part = (size_t)count < rest ? (size_t)count : rest;
    memcpy(into, tiff->bytes + tiff->position, part);
    tiff->position += part;
    return (tmsize_t)part;
}

static tmsize_t on_write(thandle_t handle, void *from, tmsize_t count) {
    (void)handle, (void)from, (void)count;
    return -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int origin) {
    icodec_tiff *tiff = handle;
    tiff->position = origin == SEEK_CUR ? tiff->position + offset : origin == SEEK_END ? tiff->count + offset : offset;
    return tiff->position;
}

static int on_close(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle) { return ((icodec_tiff *)handle)->count; }

/// libtiff only reads what is mapped, and copies what it changes.
static int on_map(thandle_t handle, void **base, toff_t *size) {
    icodec_tiff *tiff = handle;
    *base = (void *)(uintptr_t)tiff->bytes;
    *size = tiff->count;
    return 1;
}

static void on_unmap(thandle_t handle, void *base, toff_t size) { (void)handle, (void)base, (void)size; }

/// Keeps the first error of an image.
__attribute__((format(printf, 3, 0))) static void on_error(
    thandle_t handle, const char *module, const char *format, va_list arguments) {
    (void)module;
    icodec_tiff *tiff = handle;
    if (tiff && !tiff->message[0]) vsnprintf(tiff->message, sizeof tiff->message, format, arguments);
}

/// libtiff's own handlers print.
static void take_handlers(void) {
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    TIFFSetWarningHandlerExt(NULL);
    TIFFSetErrorHandlerExt(on_error);
}

static bool fail(const icodec_tiff *tiff, icodec_error *error) {
    const char *reason = tiff->message[0] ? tiff->message : "not a valid TIFF";
    if (strncmp(reason, "IO error", 8) == 0)
        return icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image");
    bool is_memory = strstr(reason, "ut of memory") || strstr(reason, "No space");
    return is_memory ? icodec_fail(error, ICODEC_MEMORY, -1, "out of memory")
                     : icodec_fail(error, ICODEC_CORRUPT, -1, "%s", reason);
}

/// Fails because a strip or a tile cannot be read: one may end behind the file.
static bool fail_part(const icodec_tiff *tiff, icodec_error *error) {
    uint64_t *places = NULL, *lengths = NULL;
    TIFFGetField(tiff->tif, tiff->is_tiled ? TIFFTAG_TILEOFFSETS : TIFFTAG_STRIPOFFSETS, &places);
    TIFFGetField(tiff->tif, tiff->is_tiled ? TIFFTAG_TILEBYTECOUNTS : TIFFTAG_STRIPBYTECOUNTS, &lengths);
    uint32_t parts = tiff->is_tiled ? TIFFNumberOfTiles(tiff->tif) : TIFFNumberOfStrips(tiff->tif);
    bool is_short = false;
    for (uint32_t part = 0; part < parts && places && lengths && !is_short; part++)
        is_short = places[part] > tiff->count || lengths[part] > tiff->count - places[part];
    return is_short ? icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image") : fail(tiff, error);
}

// MARK: The header

static bool is_read(uint16_t compression) {
    switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
    case COMPRESSION_LZW:
    case COMPRESSION_JPEG:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_PACKBITS: return TIFFIsCODECConfigured(compression) != 0;
    default: return false;
    }
}

/// Reads a palette of 16-bit values. Some writers wrongly store 8-bit values.
static bool take_colors(icodec_tiff *tiff, icodec_error *error) {
    uint16_t *channels[3];
    if (!TIFFGetField(tiff->tif, TIFFTAG_COLORMAP, &channels[0], &channels[1], &channels[2]))
        return icodec_fail(error, ICODEC_CORRUPT, -1, "no palette");
    unsigned colors = 1u << tiff->bits, largest = 0;
    for (unsigned index = 0; index < colors * 3; index++) {
        unsigned value = channels[index % 3][index / 3];
        if (value > largest) largest = value;
    }
    for (unsigned index = 0; index < colors; index++) {
        for (unsigned channel = 0; channel < 3; channel++) {
            unsigned value = channels[channel][index];
            tiff->colors[index][channel] = (uint8_t)(largest > 255 ? value >> 8 : value);
        }
        tiff->colors[index][3] = 255;
    }
    return true;
}

/// Finds the sample of alpha among those behind the colours.
static void take_alpha(icodec_tiff *tiff, uint32_t colors) {
    uint16_t count = 0, *kinds = NULL;
    if (!TIFFGetFieldDefaulted(tiff->tif, TIFFTAG_EXTRASAMPLES, &count, &kinds) || !kinds) return;
    for (uint32_t index = 0; index < count && colors + index < tiff->samples && !tiff->alpha; index++) {
        if (kinds[index] != EXTRASAMPLE_ASSOCALPHA && kinds[index] != EXTRASAMPLE_UNASSALPHA) continue;
        tiff->alpha = colors + index;
        tiff->is_associated = kinds[index] == EXTRASAMPLE_ASSOCALPHA;
    }
}

static bool fail_kind(const icodec_tiff *tiff, icodec_error *error) {
    return icodec_fail(
        error, ICODEC_UNSUPPORTED, -1, "TIFF of a kind that is not read: compression %u, colours %u, %u samples of %u bits",
        tiff->compression, tiff->photometric, tiff->samples, tiff->bits);
}

/// Decides how pixels are made of samples.
static bool take_kind(icodec_tiff *tiff, icodec_error *error) {
    uint16_t format = SAMPLEFORMAT_UINT, planes = PLANARCONFIG_CONTIG;
    TIFF *tif = tiff->tif;
    TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &tiff->bits);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &tiff->samples);
    TIFFGetFieldDefaulted(tif, TIFFTAG_COMPRESSION, &tiff->compression);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &planes);
    TIFFGetFieldDefaulted(tif, TIFFTAG_ORIENTATION, &tiff->orientation);
    bool is_fax = tiff->compression >= COMPRESSION_CCITTRLE && tiff->compression <= COMPRESSION_CCITTFAX4;
    if (!TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &tiff->photometric))
        tiff->photometric = tiff->samples >= 3 ? PHOTOMETRIC_RGB : is_fax ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK;
    tiff->is_separate = planes == PLANARCONFIG_SEPARATE && tiff->samples > 1;
    bool is_deep = tiff->bits == 16, is_known = tiff->bits == 1 || tiff->bits == 2 || tiff->bits == 4 || tiff->bits == 8 || is_deep;
    if (!is_read(tiff->compression) || !is_known || tiff->samples == 0 || tiff->samples > most_samples ||
        (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID))
        return fail_kind(tiff, error);
    bool is_jpeg = tiff->compression == COMPRESSION_JPEG;
    switch (tiff->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK: tiff->kind = as_gray; break;
    case PHOTOMETRIC_PALETTE:
        if (is_deep) return fail_kind(tiff, error);
        tiff->kind = as_palette;
        if (!take_colors(tiff, error)) return false;
        break;
    case PHOTOMETRIC_RGB: tiff->kind = as_rgb; break;
    case PHOTOMETRIC_YCBCR:
        // libjpeg returns R, G and B.
        tiff->kind = is_jpeg && tiff->samples == 3 && !tiff->is_separate ? as_rgb : as_converted;
        if (tiff->kind == as_rgb) TIFFSetField(tif, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        break;
    case PHOTOMETRIC_SEPARATED:
    case PHOTOMETRIC_CIELAB: tiff->kind = as_converted; break;
    default: return fail_kind(tiff, error);
    }
    if (tiff->kind == as_converted) return tiff->bits == 8 ? true : fail_kind(tiff, error);
    uint32_t colors = tiff->kind == as_rgb ? 3 : 1;
    if (tiff->samples < colors) return fail_kind(tiff, error);
    take_alpha(tiff, colors);
    return true;
}

/// Prepares libtiff's conversion, which keeps the stored orientation.
static bool take_converter(icodec_tiff *tiff, icodec_error *error) {
    char reason[1024] = "";
    if (!TIFFRGBAImageBegin(&tiff->converter, tiff->tif, 1, reason))
        return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "TIFF of a kind that is not read (%.120s)", reason);
    tiff->has_converter = true;
    tiff->converter.orientation = tiff->converter.req_orientation = ORIENTATION_TOPLEFT;
    // Its colours are multiplied by any kind of alpha; of inks it has none.
    tiff->alpha = tiff->converter.alpha && tiff->photometric != PHOTOMETRIC_SEPARATED;
    tiff->is_associated = tiff->alpha;
    return true;
}

/// Finds the strips or tiles, and the memory for one of them.
static bool take_parts(icodec_tiff *tiff, icodec_error *error) {
    TIFF *tif = tiff->tif;
    tiff->is_tiled = TIFFIsTiled(tif) != 0;
    uint32_t parts = tiff->is_tiled ? TIFFNumberOfTiles(tif) : TIFFNumberOfStrips(tif), rows = 0;
    if (parts > most_parts) return icodec_fail(error, ICODEC_LIMIT, -1, "more than %d strips or tiles", most_parts);
    tmsize_t size, least;
    if (tiff->is_tiled) {
        TIFFGetField(tif, TIFFTAG_TILEWIDTH, &tiff->tile_width);
        TIFFGetField(tif, TIFFTAG_TILELENGTH, &rows);
        size = TIFFTileSize(tif);
        least = tiff->tile_width ? TIFFTileRowSize(tif) : 0;
    } else {
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, &rows);
        least = TIFFScanlineSize(tif);
        size = tiff->is_separate || tiff->kind == as_converted ? TIFFStripSize(tif) : least;
    }
    if (parts == 0 || rows == 0 || size <= 0 || least <= 0) return fail(tiff, error);
    tiff->band_rows = rows < tiff->height ? rows : tiff->height;
    tiff->raw_size = (uint64_t)size;
    if (tiff->kind == as_converted) return true;
    // Rows are read as far as the image needs them, whatever their sizes are by libtiff.
    uint64_t values = (uint64_t)(tiff->is_tiled ? tiff->tile_width : tiff->width) * (tiff->is_separate ? 1 : tiff->samples);
    uint64_t lines = tiff->is_tiled ? rows : tiff->is_separate ? tiff->band_rows : 1;
    bool fits = (uint64_t)least == (values * tiff->bits + 7) / 8 && tiff->raw_size / (uint64_t)least >= lines;
    return fits ? true : icodec_fail(error, ICODEC_CORRUPT, -1, "strips or tiles of an unexpected size");
}

static bool has_band(const icodec_tiff *tiff) {
    return tiff->is_tiled || tiff->is_separate || tiff->kind == as_converted;
}

static uint64_t values_size(const icodec_tiff *tiff) {
    return (uint64_t)(tiff->tile_width > tiff->width ? tiff->tile_width : tiff->width) * tiff->samples;
}

/// The memory for decoding: libtiff's copy of the header, a strip with reversed bits, the codec's state (libjpeg: up to 10 MiB), rows and a band.
static uint64_t decoded_bytes(const icodec_tiff *tiff) {
    uint16_t order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff->tif, TIFFTAG_FILLORDER, &order);
    uint64_t copied = order == FILLORDER_MSB2LSB ? 0 : tiff->count;
    uint64_t band = has_band(tiff) ? (uint64_t)tiff->band_rows * tiff->width * 4 : 0;
    uint64_t planes = tiff->kind == as_converted && tiff->is_separate ? tiff->samples : 1;
    uint64_t decoder = tiff->compression == COMPRESSION_JPEG ? 16u << 20 : 1u << 20;
    uint64_t raw = (tiff->raw_size < most_bytes ? tiff->raw_size : most_bytes) * planes;
    uint64_t bytes = tiff->directory.work.bytes * 4 + copied + decoder + (uint64_t)tiff->width * 64 + raw + values_size(tiff) + band;
    return bytes < most_bytes ? bytes : most_bytes;
}

static bool parse(icodec_tiff *tiff, icodec_error *error) {
    if (!icodec_tiff_scan(tiff->bytes, tiff->count, &tiff->limits, &tiff->directory, error)) return false;
    if (tiff->directory.work.bytes > tiff->limits.memory / 4)
        return icodec_fail(error, ICODEC_LIMIT, -1, "its header takes more memory than allowed");
    if (!icodec_watch_allows(&tiff->watch, error)) return false;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_handlers);
    tiff->tif = TIFFClientOpen("", "r", tiff, on_read, on_write, on_seek, on_close, on_size, on_map, on_unmap);
    if (!tiff->tif) return fail(tiff, error);
    tiff->message[0] = 0;
    TIFFGetField(tiff->tif, TIFFTAG_IMAGEWIDTH, &tiff->width);
    TIFFGetField(tiff->tif, TIFFTAG_IMAGELENGTH, &tiff->height);
    // libtiff must use the size that was checked.
    if (tiff->width != tiff->directory.width || tiff->height != tiff->directory.height)
        return icodec_fail(error, ICODEC_CORRUPT, -1, "sizes that contradict each other");
    return take_kind(tiff, error) && (tiff->kind != as_converted || take_converter(tiff, error)) && take_parts(tiff, error) &&
        icodec_watch_allows(&tiff->watch, error);
}

icodec_tiff *icodec_tiff_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_is_allowed_here("TIFF", error) || !icodec_open_libtiff(error)) return NULL;
    icodec_tiff *tiff = calloc(1, sizeof *tiff);
    if (!tiff) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    tiff->bytes = bytes;
    tiff->count = count;
    tiff->limits = *limits;
    tiff->watch = limits->watch;
    tiff->orientation = 1;
    if (parse(tiff, error)) return tiff;
    icodec_tiff_close(tiff);
    return NULL;
}

void icodec_tiff_describe(const icodec_tiff *tiff, icodec_description *description, int *orientation) {
    memset(description, 0, sizeof *description);
    description->width = tiff->width;
    description->height = tiff->height;
    description->components = tiff->samples;
    description->bit_depth = tiff->bits;
    description->frames = 1;
    description->has_alpha = tiff->alpha != 0;
    description->is_gray = tiff->kind == as_gray;
    description->decoded_bytes = decoded_bytes(tiff);
    *orientation = tiff->orientation;
    uint32_t size = 0;
    void *profile = NULL;
    // One of inks or of Lab does not describe what they were converted to.
    bool has_profile = tiff->kind != as_converted && TIFFGetField(tiff->tif, TIFFTAG_ICCPROFILE, &size, &profile);
    if (!has_profile || !profile || size > tiff->limits.ancillary) return;
    description->icc = profile;
    description->icc_size = size;
}

void icodec_tiff_set_watch(icodec_tiff *tiff, const icodec_watch *watch) { tiff->watch = *watch; }

// MARK: Pixels

bool icodec_tiff_start(icodec_tiff *tiff, icodec_error *error) {
    if (!icodec_watch_allows(&tiff->watch, error)) return false;
    // libtiff allocates for its conversion.
    if (tiff->kind != as_converted) {
        tiff->raw = malloc(tiff->raw_size);
        tiff->values = malloc(values_size(tiff));
        if (!tiff->raw || !tiff->values) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    }
    if (has_band(tiff)) tiff->band = malloc((size_t)tiff->band_rows * tiff->width * 4);
    return tiff->band || !has_band(tiff) ? true : icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
}

/// Widens or narrows samples to 8 bits; those of a palette stay numbers.
static void unpack(const icodec_tiff *tiff, const uint8_t *from, size_t count) {
    uint8_t *to = tiff->values;
    unsigned bits = tiff->bits;
    if (bits == 8) {
        memcpy(to, from, count);
    } else if (bits == 16) {
        for (size_t index = 0; index < count; index++) {
            uint16_t value;
            memcpy(&value, from + index * 2, 2);
            to[index] = (uint8_t)(value >> 8);
        }
    } else {
        unsigned largest = (1u << bits) - 1, factor = tiff->kind == as_palette ? 1 : 255 / largest;
        for (size_t index = 0; index < count; index++) {
            size_t bit = index * bits;
            to[index] = (uint8_t)((from[bit / 8] >> (8 - bits - bit % 8) & largest) * factor);
        }
    }
}

/// Writes the samples of one plane, or of all of them, of so many pixels.
static void paint(const icodec_tiff *tiff, const uint8_t *raw, uint32_t count, uint32_t plane, uint8_t *to) {
    uint32_t step = tiff->is_separate ? 1 : tiff->samples;
    unpack(tiff, raw, (size_t)count * step);
    const uint8_t *from = tiff->values;
    uint8_t inverse = tiff->photometric == PHOTOMETRIC_MINISWHITE ? 255 : 0;
    bool has_colors = plane == 0, has_alpha = tiff->alpha && (!tiff->is_separate || plane == tiff->alpha);
    uint32_t alpha = tiff->is_separate ? 0 : tiff->alpha;
    if (tiff->is_separate && tiff->kind == as_rgb && plane < 3) {
        for (uint32_t column = 0; column < count; column++) to[column * 4 + plane] = from[column];
        has_colors = false;
    }
    for (uint32_t column = 0; column < count && (has_colors || has_alpha); column++, from += step, to += 4) {
        if (!has_colors) {
            to[3] = from[alpha];
            continue;
        }
        switch (tiff->kind) {
        case as_gray: memset(to, from[0] ^ inverse, 3); break;
        case as_palette: memcpy(to, tiff->colors[from[0]], 3); break;
        default: memcpy(to, from, 3); break;
        }
        if (has_alpha) to[3] = from[alpha];
        else if (!tiff->is_separate) to[3] = 255;
    }
}

/// Divides colours by their alpha.
static void divide(uint8_t *pixels, size_t count) {
    for (size_t index = 0; index < count; index++, pixels += 4) {
        unsigned alpha = pixels[3];
        if (alpha == 255) continue;
        for (int channel = 0; channel < 3; channel++) {
            unsigned value = alpha ? (pixels[channel] * 255u + alpha / 2) / alpha : 0;
            pixels[channel] = (uint8_t)(value > 255 ? 255 : value);
        }
    }
}

/// Reads the tiles that have a row of the image, of one plane.
static bool read_tiles(icodec_tiff *tiff, uint32_t row, uint32_t rows, uint32_t plane, icodec_error *error) {
    size_t line = (size_t)TIFFTileRowSize(tiff->tif);
    for (uint32_t left = 0; left < tiff->width; left += tiff->tile_width) {
        if (!icodec_watch_allows(&tiff->watch, error)) return false;
        tmsize_t got = TIFFReadTile(tiff->tif, tiff->raw, left, row, 0, (uint16_t)plane);
        if (got < 0 || (uint64_t)got < line * rows) return fail_part(tiff, error);
        uint32_t columns = tiff->width - left < tiff->tile_width ? tiff->width - left : tiff->tile_width;
        for (uint32_t index = 0; index < rows; index++)
            paint(tiff, tiff->raw + index * line, columns, plane, tiff->band + ((size_t)index * tiff->width + left) * 4);
        if (tiff->width - left <= tiff->tile_width) break;
    }
    return true;
}

/// Reads the strip of one plane that begins with a row of the image.
static bool read_strip(icodec_tiff *tiff, uint32_t row, uint32_t rows, uint32_t plane, icodec_error *error) {
    if (!icodec_watch_allows(&tiff->watch, error)) return false;
    uint32_t strip = TIFFComputeStrip(tiff->tif, row, (uint16_t)plane);
    size_t line = (size_t)TIFFScanlineSize(tiff->tif);
    tmsize_t got = TIFFReadEncodedStrip(tiff->tif, strip, tiff->raw, (tmsize_t)(line * rows));
    if (got < 0 || (uint64_t)got < line * rows) return fail_part(tiff, error);
    for (uint32_t index = 0; index < rows; index++)
        paint(tiff, tiff->raw + index * line, tiff->width, plane, tiff->band + (size_t)index * tiff->width * 4);
    return true;
}

/// Has libtiff convert the rows of a strip, or of the tiles beside each other.
static bool convert(icodec_tiff *tiff, uint32_t row, uint32_t rows, icodec_error *error) {
    if (!icodec_watch_allows(&tiff->watch, error)) return false;
    tiff->converter.row_offset = (int)row;
    uint32_t *raster = (uint32_t *)(void *)tiff->band;
    if (!TIFFRGBAImageGet(&tiff->converter, raster, tiff->width, rows)) return fail_part(tiff, error);
    for (size_t index = 0; index < (size_t)tiff->width * rows; index++) {
        uint32_t pixel = raster[index];
        uint8_t bytes[4] = {TIFFGetR(pixel), TIFFGetG(pixel), TIFFGetB(pixel), TIFFGetA(pixel)};
        memcpy(tiff->band + index * 4, bytes, 4);
    }
    return true;
}

/// Reads the strip or the tiles that begin with a row of the image.
static bool read_band(icodec_tiff *tiff, uint32_t row, icodec_error *error) {
    uint32_t rows = tiff->height - row < tiff->band_rows ? tiff->height - row : tiff->band_rows;
    if (tiff->kind == as_converted) {
        if (!convert(tiff, row, rows, error)) return false;
    } else {
        memset(tiff->band, 255, (size_t)rows * tiff->width * 4);
        uint32_t planes = !tiff->is_separate ? 1 : tiff->kind == as_rgb ? 3 : 1;
        for (uint32_t plane = 0; plane < planes; plane++) {
            bool is_done = tiff->is_tiled ? read_tiles(tiff, row, rows, plane, error) : read_strip(tiff, row, rows, plane, error);
            if (!is_done) return false;
        }
        if (tiff->is_separate && tiff->alpha) {
            bool is_done = tiff->is_tiled ? read_tiles(tiff, row, rows, tiff->alpha, error)
                                          : read_strip(tiff, row, rows, tiff->alpha, error);
            if (!is_done) return false;
        }
    }
    tiff->band_end = row + rows;
    return true;
}

bool icodec_tiff_rows(icodec_tiff *tiff, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    uint32_t between = icodec_watch_step / (tiff->width + 1) / 4 + 1;
    for (*got = 0; *got < count && tiff->row < tiff->height; *got += 1, tiff->row++) {
        uint8_t *to = rows + *got * stride;
        if (tiff->row % between == 0 && !icodec_watch_allows(&tiff->watch, error)) return false;
        if (tiff->band) {
            if (tiff->row >= tiff->band_end && !read_band(tiff, tiff->row, error)) return false;
            uint32_t start = tiff->row / tiff->band_rows * tiff->band_rows;
            memcpy(to, tiff->band + (size_t)(tiff->row - start) * tiff->width * 4, (size_t)tiff->width * 4);
        } else {
            if (TIFFReadScanline(tiff->tif, tiff->raw, tiff->row, 0) < 0) return fail_part(tiff, error);
            paint(tiff, tiff->raw, tiff->width, 0, to);
        }
        if (tiff->alpha && tiff->is_associated) divide(to, tiff->width);
    }
    return true;
}

void icodec_tiff_close(icodec_tiff *tiff) {
    if (!tiff) return;
    if (tiff->has_converter) TIFFRGBAImageEnd(&tiff->converter);
    if (tiff->tif) TIFFClose(tiff->tif);
    free(tiff->raw);
    free(tiff->values);
    free(tiff->band);
    free(tiff);
}
