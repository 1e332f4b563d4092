#include "heif_hevc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "icodec_heif.h"
#include "libheif_calls.h"

static __thread icodec_hevc_work *current;

void icodec_hevc_begin(icodec_hevc_work *work) { current = work; }

// MARK: Sequence parameter sets

/// The bits of a unit without its emulation prevention bytes (section 7.3.1.1).
typedef struct {
    const uint8_t *bytes;
    size_t count, at; // bytes
    unsigned used; // bits of the byte
    bool is_short;
} bits;

static uint32_t take_bit(bits *from) {
    if (from->used == 0 && from->at >= 2 && from->at < from->count && from->bytes[from->at] == 3 &&
        from->bytes[from->at - 1] == 0 && from->bytes[from->at - 2] == 0)
        from->at++;
    if (from->at >= from->count) {
        from->is_short = true;
        return 0;
    }
    uint32_t bit = from->bytes[from->at] >> (7 - from->used) & 1;
    if (++from->used == 8) from->used = 0, from->at++;
    return bit;
}

static uint32_t take_bits(bits *from, unsigned count) {
    uint32_t number = 0;
    while (count-- > 0) number = number << 1 | take_bit(from);
    return number;
}

/// An unsigned Exp-Golomb number (section 9.2).
static uint32_t take_golomb(bits *from) {
    unsigned zeros = 0;
    while (zeros < 32 && !from->is_short && take_bit(from) == 0) zeros++;
    if (zeros == 32) from->is_short = true;
    return from->is_short ? 0 : (uint32_t)(((uint64_t)1 << zeros) - 1) + take_bits(from, zeros);
}

static void skip_levels(bits *from, uint32_t layers) {
    take_bits(from, 88); // general profile
    take_bits(from, 8); // and level
    uint32_t present[8][2] = {{0}};
    for (uint32_t layer = 0; layer < layers; layer++) {
        present[layer][0] = take_bit(from);
        present[layer][1] = take_bit(from);
    }
    if (layers > 0) take_bits(from, 2 * (8 - layers));
    for (uint32_t layer = 0; layer < layers; layer++) {
        if (present[layer][0]) take_bits(from, 88);
        if (present[layer][1]) take_bits(from, 8);
    }
}

bool icodec_hevc_size(const uint8_t *unit, size_t count, uint64_t *pixels, uint32_t *chroma) {
    bits from = {unit, count, 2, 0, false};
    take_bits(&from, 4); // video parameter set
    uint32_t layers = take_bits(&from, 3);
    take_bit(&from);
    skip_levels(&from, layers);
    take_golomb(&from); // number
    *chroma = take_golomb(&from);
    if (*chroma == 3) take_bit(&from);
    uint64_t width = take_golomb(&from);
    *pixels = width * take_golomb(&from);
    return !from.is_short;
}

// MARK: The decoder

static const struct heif_error fine = {heif_error_Ok, heif_suberror_Unspecified, "Success"};
static const struct heif_error refused = {heif_error_Decoder_plugin_error, heif_suberror_Unspecified, "refused"};

static struct heif_error fail(int code, const char *reason) {
    if (current && !current->error.code) icodec_fail(&current->error, code, -1, "%s", reason);
    return refused;
}

static const char *name(void) { return "libde265 in one thread"; }

static void nothing(void) {}

static void set_strict(void *decoder, int flag) { (void)decoder, (void)flag; }

/// libheif's own says 100.
static int supports(enum heif_compression_format format) { return format == heif_compression_HEVC ? 1000 : 0; }

static struct heif_error new_decoder(void **decoder) {
    *decoder = de265_new_decoder();
    return *decoder ? fine : fail(ICODEC_MEMORY, "out of memory");
}

static void free_decoder(void *decoder) { de265_free_decoder(decoder); }

/// True if a picture of a sequence's size may be decoded. Other units have none.
static bool is_counted(const uint8_t *unit, size_t count) {
    bool is_sequence = count > 2 && (unit[0] >> 1 & 0x3f) == 33 && (unit[0] & 1) == 0 && unit[1] >> 3 == 0;
    if (!is_sequence || !current) return true;
    uint64_t pixels = 0;
    uint32_t chroma = 0;
    return icodec_hevc_size(unit, count, &pixels, &chroma) && pixels <= current->pixels && chroma <= current->chroma;
}

/// Takes units, each after its length in four bytes.
static struct heif_error push(void *decoder, const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t at = 0; at < size;) {
        if (size - at < 4) return fail(ICODEC_CORRUPT, "an HEVC unit without its length");
        size_t count = (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 | (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        at += 4;
        if (count > size - at) return fail(ICODEC_TRUNCATED, "the file ends within the image");
        if (!is_counted(bytes + at, count))
            return fail(ICODEC_CORRUPT, "a picture is larger than the container says");
        if (de265_push_NAL(decoder, bytes + at, (int)count, 0, NULL) != DE265_OK) return fail(ICODEC_MEMORY, "out of memory");
        at += count;
    }
    return fine;
}

static struct heif_error copy_plane(const struct de265_image *from, int plane, enum heif_channel channel, struct heif_image *into) {
    int width = de265_get_image_width(from, plane), height = de265_get_image_height(from, plane);
    int depth = de265_get_bits_per_pixel(from, plane), stride = 0, own = 0;
    const uint8_t *bytes = de265_get_image_plane(from, plane, &stride);
    if (!bytes || width <= 0 || height <= 0) return fail(ICODEC_CORRUPT, "a picture without pixels");
    struct heif_error error = heif_image_add_plane(into, channel, width, height, depth);
    if (error.code != heif_error_Ok) return fail(ICODEC_MEMORY, "out of memory");
    uint8_t *copy = heif_image_get_plane(into, channel, &own);
    size_t row = (size_t)width * (depth > 8 ? 2 : 1);
    for (int y = 0; y < height; y++) memcpy(copy + (size_t)y * own, bytes + (size_t)y * stride, row);
    return fine;
}

/// Notes the numbers of the stream's colours, which count where the container has none.
static void copy_colors(const struct de265_image *from, struct heif_image *into) {
    struct heif_color_profile_nclx *colors = heif_nclx_color_profile_alloc();
    if (!colors) return;
    heif_nclx_color_profile_set_color_primaries(colors, (uint16_t)de265_get_image_colour_primaries(from));
    heif_nclx_color_profile_set_transfer_characteristics(colors, (uint16_t)de265_get_image_transfer_characteristics(from));
    heif_nclx_color_profile_set_matrix_coefficients(colors, (uint16_t)de265_get_image_matrix_coefficients(from));
    colors->full_range_flag = de265_get_image_full_range_flag(from) != 0;
    heif_image_set_nclx_color_profile(into, colors);
    heif_nclx_color_profile_free(colors);
}

static struct heif_error copy_image(const struct de265_image *from, struct heif_image **into) {
    uint32_t chroma = (uint32_t)de265_get_chroma_format(from);
    bool is_gray = chroma == 0;
    if (current && chroma > current->met) current->met = chroma;
    struct heif_error error = heif_image_create(
        de265_get_image_width(from, 0), de265_get_image_height(from, 0),
        is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr, (enum heif_chroma)chroma, into);
    if (error.code != heif_error_Ok) return fail(ICODEC_MEMORY, "out of memory");
    static const enum heif_channel channels[3] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    for (int plane = 0; plane < (is_gray ? 1 : 3); plane++) {
        error = copy_plane(from, plane, channels[plane], *into);
        if (error.code != heif_error_Ok) {
            heif_image_release(*into);
            *into = NULL;
            return error;
        }
    }
    copy_colors(from, *into);
    return fine;
}

static struct heif_error decode(void *decoder, struct heif_image **image) {
    *image = NULL;
    if (current && !icodec_watch_allows(current->watch, &current->error)) return refused;
    if (de265_flush_data(decoder) != DE265_OK) return fail(ICODEC_MEMORY, "out of memory");
    int more = 1;
    while (more) {
        more = 0;
        de265_error result = de265_decode(decoder, &more);
        if (result != DE265_OK)
            return fail(result == DE265_ERROR_OUT_OF_MEMORY ? ICODEC_MEMORY : ICODEC_CORRUPT, de265_get_error_text(result));
        const struct de265_image *picture = de265_get_next_picture(decoder);
        if (picture) return copy_image(picture, image);
    }
    return fail(ICODEC_TRUNCATED, "the file ends within the image");
}

static const struct heif_decoder_plugin plugin = {
    .plugin_api_version = 3,
    .get_plugin_name = name,
    .init_plugin = nothing,
    .deinit_plugin = nothing,
    .does_support_format = supports,
    .new_decoder = new_decoder,
    .free_decoder = free_decoder,
    .push_data = push,
    .decode_image = decode,
    .set_strict_decoding = set_strict,
    .id_name = "imgcache-libde265",
};

static bool is_registered;

static void do_register(void) { is_registered = heif_register_decoder_plugin(&plugin).code == heif_error_Ok; }

bool icodec_register_hevc(icodec_error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, do_register);
    return is_registered ? true : icodec_fail(error, ICODEC_INTERNAL, -1, "libheif takes no decoder");
}
