#include <stdlib.h>
#include <string.h>

#include "icodec_webp.h"
#include "libwebp_calls.h"

static void take_chunk(
    const WebPDemuxer *demuxer, const char *name, const uint8_t **bytes, size_t *count, size_t limit) {
    WebPChunkIterator iterator;
    if (WebPDemuxGetChunk(demuxer, name, 1, &iterator) && iterator.chunk.size <= limit) {
        *bytes = iterator.chunk.bytes;
        *count = iterator.chunk.size;
    }
    WebPDemuxReleaseChunkIterator(&iterator);
}

bool icodec_webp_describe(
    const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_description *description,
    icodec_webp_frame *frame, icodec_error *error) {
    if (!icodec_open_libwebp(error)) return false;
    memset(description, 0, sizeof *description);
    memset(frame, 0, sizeof *frame);
    WebPData data = {bytes, count};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    WebPDemuxer *demuxer = WebPDemuxInternal(&data, 1, &state, WEBP_DEMUX_ABI_VERSION);
    if (!demuxer)
        return icodec_fail(
            error, state == WEBP_DEMUX_PARSING_HEADER ? ICODEC_TRUNCATED : ICODEC_CORRUPT, -1,
            state == WEBP_DEMUX_PARSING_HEADER ? "the file ends within its header" : "not a valid WebP container");
    description->width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
    description->height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
    description->frames = WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT);
    description->bit_depth = 8;
    bool is_animated = WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS) & ANIMATION_FLAG;
    take_chunk(demuxer, "ICCP", &description->icc, &description->icc_size, limits->ancillary);
    take_chunk(demuxer, "EXIF", &description->exif, &description->exif_size, limits->ancillary);
    // Some writers put a JPEG's name before the block.
    if (description->exif_size > 6 && memcmp(description->exif, "Exif\0\0", 6) == 0) {
        description->exif += 6;
        description->exif_size -= 6;
    }
    bool done = icodec_check_size(limits, description->width, description->height, error);
    WebPIterator iterator;
    if (done && !WebPDemuxGetFrame(demuxer, 1, &iterator)) {
        done = icodec_fail(
            error, state == WEBP_DEMUX_DONE ? ICODEC_CORRUPT : ICODEC_TRUNCATED, -1, "no image in the container");
    } else if (done) {
        frame->bytes = iterator.fragment.bytes;
        frame->count = iterator.fragment.size;
        frame->x = (uint32_t)iterator.x_offset;
        frame->y = (uint32_t)iterator.y_offset;
        frame->width = (uint32_t)iterator.width;
        frame->height = (uint32_t)iterator.height;
        frame->is_complete = iterator.complete;
        WebPDemuxReleaseIterator(&iterator);
        WebPBitstreamFeatures features;
        VP8StatusCode status = WebPGetFeaturesInternal(frame->bytes, frame->count, &features, WEBP_DECODER_ABI_VERSION);
        if (status == VP8_STATUS_NOT_ENOUGH_DATA)
            done = icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image's header");
        else if (status != VP8_STATUS_OK) done = icodec_fail(error, ICODEC_CORRUPT, -1, "not a valid image header");
        else {
            bool is_partial = frame->x || frame->y || frame->width != description->width ||
                frame->height != description->height;
            description->has_alpha = features.has_alpha || (is_animated && is_partial);
            description->is_lossless = features.format == 2;
            description->components = features.has_alpha ? 4 : 3;
        }
    }
    WebPDemuxDelete(demuxer);
    return done;
}

static bool fail_with(icodec_error *error, VP8StatusCode status, size_t offset) {
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return icodec_fail(error, ICODEC_TRUNCATED, -1, "the image data end early");
    case VP8_STATUS_UNSUPPORTED_FEATURE: return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "a feature unknown to libwebp");
    default: return icodec_fail(error, ICODEC_CORRUPT, (int64_t)offset, "the image data are not valid");
    }
}

bool icodec_webp_decode(
    const icodec_webp_frame *frame, const icodec_limits *limits, bool is_lossless, uint8_t *pixels, uint32_t width,
    uint32_t height, size_t stride, icodec_error *error) {
    (void)is_lossless;
    if (!icodec_open_libwebp(error)) return false;
    double deadline = icodec_cpu_seconds() + limits->seconds;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION)) return icodec_fail(error, ICODEC_INTERNAL, -1, "libwebp of another version");
    config.options.use_scaling = width != frame->width || height != frame->height;
    config.options.scaled_width = (int)width;
    config.options.scaled_height = (int)height;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = stride * height;
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (!decoder) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    // In parts, so that the time can be looked at between them.
    const size_t step = 32768;
    size_t given = 0;
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    while (given < frame->count && status == VP8_STATUS_SUSPENDED) {
        given = frame->count - given > step ? given + step : frame->count;
        status = WebPIUpdate(decoder, frame->bytes, given);
        if (icodec_cpu_seconds() > deadline) {
            WebPIDelete(decoder);
            return icodec_fail(error, ICODEC_LIMIT, -1, "decoding takes longer than allowed");
        }
    }
    WebPIDelete(decoder);
    return status == VP8_STATUS_OK ? true : fail_with(error, status, given);
}

bool icodec_webp_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_webp_options *options, uint8_t **bytes, size_t *count, icodec_error *error) {
    if (!icodec_open_libwebp(error)) return false;
    WebPConfig config;
    WebPPicture picture;
    if (!WebPConfigInitInternal(&config, WEBP_PRESET_DEFAULT, 75, WEBP_ENCODER_ABI_VERSION) ||
        !WebPPictureInitInternal(&picture, WEBP_ENCODER_ABI_VERSION))
        return icodec_fail(error, ICODEC_INTERNAL, -1, "libwebp of another version");
    config.lossless = options->lossless;
    config.quality = options->quality;
    config.method = options->method;
    if (!WebPValidateConfig(&config)) return icodec_fail(error, ICODEC_INTERNAL, -1, "options that libwebp refuses");
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    picture.use_argb = options->lossless;
    picture.width = (int)width;
    picture.height = (int)height;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    bool imported = has_alpha ? WebPPictureImportRGBA(&picture, pixels, (int)stride)
                              : WebPPictureImportRGBX(&picture, pixels, (int)stride);
    bool done = imported && WebPEncode(&config, &picture);
    if (!done) {
        bool is_memory = picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
            picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY;
        icodec_fail(
            error, is_memory ? ICODEC_MEMORY : ICODEC_INTERNAL, -1, "libwebp could not encode (its error %d)",
            picture.error_code);
    }
    WebPPictureFree(&picture);
    if (done) {
        // The writer's memory is malloc's.
        *bytes = writer.mem;
        *count = writer.size;
    } else {
        WebPMemoryWriterClear(&writer);
    }
    return done;
}
