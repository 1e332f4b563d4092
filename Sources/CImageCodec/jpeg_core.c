#include "jpeg_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

int64_t icodec_jpeg_offset(const icodec_jpeg_core *core) {
    return (int64_t)core->position - (int64_t)core->input.bytes_in_buffer;
}

void icodec_jpeg_leave(icodec_jpeg_core *core, int code, const char *reason) {
    icodec_fail(core->error, code, icodec_jpeg_offset(core), "%s", reason);
    longjmp(core->jump, 1);
}

void icodec_jpeg_check_watch(icodec_jpeg_core *core) {
    if (!icodec_watch_allows(&core->watch, core->error)) longjmp(core->jump, 1);
}

static void leave_with_message(icodec_jpeg_core *core, int code) {
    char message[JMSG_LENGTH_MAX];
    core->errors.format_message((j_common_ptr)&core->info, message);
    icodec_jpeg_leave(core, code, message);
}

void icodec_jpeg_end_early(icodec_jpeg_core *core, const char *reason) {
    if (!core->limits.allow_truncated) icodec_jpeg_leave(core, ICODEC_TRUNCATED, reason);
    icodec_jpeg_note(core, ICODEC_TRUNCATED, reason);
}

void icodec_jpeg_note(icodec_jpeg_core *core, int code, const char *reason) {
    if (core->damage.code == 0) icodec_fail(&core->damage, code, icodec_jpeg_offset(core), "%s", reason);
}

static void on_error(j_common_ptr info) {
    icodec_jpeg_core *core = info->client_data;
    switch (info->err->msg_code) {
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
        leave_with_message(core, ICODEC_UNSUPPORTED);
        break;
    case JERR_NO_BACKING_STORE:
        icodec_jpeg_leave(core, ICODEC_LIMIT, "decoding needs more memory than allowed");
    case JERR_OUT_OF_MEMORY:
        leave_with_message(core, ICODEC_MEMORY);
        break;
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF:
        leave_with_message(core, ICODEC_TRUNCATED);
        break;
    default:
        // Found the end where the header should go on: the file is cut, whatever libjpeg misses first.
        leave_with_message(core, core->at_end ? ICODEC_TRUNCATED : ICODEC_CORRUPT);
    }
    abort(); // not reached: every branch has left
}

/// Returns true if an end-of-image marker follows and is the last marker of the file: within the block being decoded,
/// in which libjpeg does not reveal its position.
static bool ends_here(const icodec_jpeg_core *core) {
    uint8_t rest[2560];
    uint64_t offset = (uint64_t)icodec_jpeg_offset(core);
    ssize_t count = icodec_read(core->source, offset, rest, sizeof rest);
    for (ssize_t index = 0; index + 1 < count; index++)
        if (rest[index] == 0xFF && rest[index + 1] == JPEG_EOI)
            return core->source->size - offset - (uint64_t)index <= 16;
    return count < 2;
}

/// Returns true if the bytes that libjpeg skipped before a marker are zero: padding written by some cameras.
static bool is_padding(const icodec_jpeg_core *core, int64_t count) {
    int64_t offset = icodec_jpeg_offset(core) - count;
    uint8_t bytes[256];
    if (!core->source || offset < 0) return false;
    while (count > 0) {
        ssize_t got = icodec_read(core->source, (uint64_t)offset, bytes, count < 256 ? (size_t)count : 256);
        if (got <= 0) return false;
        for (ssize_t index = 0; index < got; index++)
            if (bytes[index] != 0) return false;
        offset += got;
        count -= got;
    }
    return true;
}

/// The data of a scan have ended before its image has: at a marker, or at the end of the input.
/// Returns true if the file was cut there, as opposed to damaged data, which seldom have exactly the right length.
static bool is_cut(const icodec_jpeg_core *core) {
    const struct jpeg_decompress_struct *info = &core->info;
    if (core->at_end) return true;
    // An end marker behind a cut is the last thing in the file; and what was right up to here was not damaged.
    if (info->unread_marker != JPEG_EOI || !core->source || core->damage.code != 0 || !ends_here(core)) return false;
    // With a single scan, damaged data that are too short lack at most some blocks of the last row: tested with random bytes in a hundred
    // files. The scans of a progressive file are hardly ever too short.
    return jpeg_has_multiple_scans((j_decompress_ptr)info) || info->input_iMCU_row + 1 < info->total_iMCU_rows ||
        info->total_iMCU_rows == 1;
}

static void on_message(j_common_ptr info, int level) {
    icodec_jpeg_core *core = info->client_data;
    // Called for each marker segment. Restart markers, of which an image may have many, have level 3.
    if (level == 1 && !icodec_work_on(&core->work, 0, core->error)) longjmp(core->jump, 1);
    if (level >= 0) return;
    info->err->num_warnings++;
    char message[JMSG_LENGTH_MAX];
    switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_MUST_RESYNC:
        if (is_cut(core)) {
            icodec_jpeg_end_early(core, "the image data end early");
            break;
        }
        // fall through
    case JWRN_EXTRANEOUS_DATA:
        if (info->err->msg_code == JWRN_EXTRANEOUS_DATA && is_padding(core, info->err->msg_parm.i[0])) break;
        // fall through
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
        // All viewers show such images: all but a few blocks may be intact.
        info->err->format_message(info, message);
        icodec_jpeg_note(core, ICODEC_CORRUPT, message);
        break;
    default: break; // odd version numbers and the like
    }
}

static void on_output(j_common_ptr info) { (void)info; }

static void on_progress(j_common_ptr info) {
    icodec_jpeg_core *core = info->client_data;
    if ((uint32_t)core->info.input_scan_number > core->limits.scans)
        icodec_jpeg_leave(core, ICODEC_LIMIT, "more scans than allowed");
    icodec_jpeg_check_watch(core);
}

void icodec_jpeg_prepare(icodec_jpeg_core *core, const icodec_limits *limits, icodec_error *error) {
    core->error = error;
    core->limits = *limits;
    core->watch = limits->watch;
    core->info.err = jpeg_std_error(&core->errors);
    core->errors.error_exit = on_error;
    core->errors.emit_message = on_message;
    core->errors.output_message = on_output;
    core->info.client_data = core;
    // Clears all of `info` but err and client_data, and may itself leave by error_exit.
    jpeg_create_decompress(&core->info);
    core->created = true;
    core->progress.progress_monitor = on_progress;
    core->info.progress = &core->progress;
    core->info.src = &core->input;
    core->info.mem->max_memory_to_use = limits->memory > INT64_MAX ? INT64_MAX : (long)limits->memory;
    jpeg_set_marker_processor(&core->info, JPEG_APP0 + 1, icodec_jpeg_take_marker);
    jpeg_set_marker_processor(&core->info, JPEG_APP0 + 2, icodec_jpeg_take_marker);
}

void icodec_jpeg_release(icodec_jpeg_core *core) {
    if (core->created) jpeg_destroy_decompress(&core->info);
    free(core->icc.bytes);
    free(core->exif.bytes);
}

/// Bytes of the coefficients of an image in several scans; of one in a single scan none are held.
/// - coarsely: at 1/8 of the size, where of most components only the first coefficient of a block is.
static uint64_t coefficients(const struct jpeg_decompress_struct *info, bool coarsely) {
    if (!jpeg_has_multiple_scans((j_decompress_ptr)info)) return 0;
    uint64_t bytes = 0;
    for (int index = 0; index < info->num_components; index++) {
        const jpeg_component_info *component = &info->comp_info[index];
        // libjpeg rounds up to whole MCUs.
        uint64_t wide = component->width_in_blocks + (uint64_t)component->h_samp_factor;
        uint64_t high = component->height_in_blocks + (uint64_t)component->v_samp_factor;
        // Components with half the width and height are decoded at twice the scale.
        bool is_halved = info->max_h_samp_factor % (component->h_samp_factor * 2) == 0 &&
            info->max_v_samp_factor % (component->v_samp_factor * 2) == 0;
        uint64_t most = (uint64_t)component->v_samp_factor * 2 * wide * DCTSIZE2; // lines that libjpeg has at hand
        bytes += coarsely && !is_halved ? (wide * high + most) * sizeof(JCOEF) : wide * high * DCTSIZE2 * sizeof(JCOEF);
    }
    return bytes;
}

bool icodec_jpeg_may_be_coarse(const icodec_jpeg_core *core) {
    return core->source && core->source->size > 128 << 10 || coefficients(&core->info, false) > 64 << 20;
}

bool icodec_jpeg_check(icodec_jpeg_core *core, icodec_error *error) {
    j_decompress_ptr info = &core->info;
    if (!icodec_check_size(&core->limits, info->image_width, info->image_height, error)) return false;
    switch (info->jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_YCbCr:
    case JCS_RGB:
    case JCS_CMYK:
    case JCS_YCCK: break;
    default:
        return icodec_fail(
            error, ICODEC_UNSUPPORTED, -1, "a JPEG with %d components of unknown colour space", info->num_components);
    }
    uint64_t held = coefficients(info, false);
    if (held > core->limits.memory)
        return icodec_fail(
            error, ICODEC_LIMIT, -1, "its coefficients take %" PRIu64 " bytes, more than %" PRIu64, held,
            core->limits.memory);
    return true;
}

void icodec_jpeg_describe_core(const icodec_jpeg_core *core, icodec_description *description) {
    const struct jpeg_decompress_struct *info = &core->info;
    memset(description, 0, sizeof *description);
    description->width = info->image_width;
    description->height = info->image_height;
    description->components = (uint32_t)info->num_components;
    description->bit_depth = (uint32_t)info->data_precision;
    description->frames = 1;
    description->interlaced = jpeg_has_multiple_scans((j_decompress_ptr)info);
    description->is_gray = info->jpeg_color_space == JCS_GRAYSCALE;
    description->is_cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    description->is_inverted = info->saw_Adobe_marker;
    description->coefficients = coefficients(info, false);
    description->coarse_coefficients = coefficients(info, icodec_jpeg_may_be_coarse(core));
    if (!core->icc_is_broken && core->icc.count > 0 && core->icc_next == core->icc_parts + 1) {
        description->icc = core->icc.bytes;
        description->icc_size = core->icc.count;
    }
    if (core->has_exif) {
        description->exif = core->exif.bytes;
        description->exif_size = core->exif.count;
    }
}

static void convert_cmyk(uint8_t *row, uint32_t width, bool inverted, bool raw) {
    for (uint8_t *pixel = row, *end = row + (size_t)width * 4; pixel < end; pixel += 4) {
        if (raw) {
            if (inverted)
                for (int index = 0; index < 4; index++) pixel[index] = 255 - pixel[index];
            continue;
        }
        unsigned paper = inverted ? pixel[3] : 255u - pixel[3];
        for (int index = 0; index < 3; index++) {
            unsigned light = inverted ? pixel[index] : 255u - pixel[index];
            unsigned product = light * paper + 128;
            pixel[index] = (uint8_t)((product + (product >> 8)) >> 8);
        }
        pixel[3] = 255;
    }
}

void icodec_jpeg_configure(icodec_jpeg_core *core, int eighths, bool raw_cmyk) {
    j_decompress_ptr info = &core->info;
    bool is_cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    core->raw_cmyk = raw_cmyk && is_cmyk;
    info->out_color_space = is_cmyk ? JCS_CMYK : JCS_EXT_RGBA;
    info->scale_num = (unsigned)eighths;
    info->scale_denom = 8;
    info->dct_method = JDCT_ISLOW;
}

void icodec_jpeg_read_rows(icodec_jpeg_core *core, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got) {
    j_decompress_ptr info = &core->info;
    while (*got < count && info->output_scanline < info->output_height) {
        JSAMPROW lines[8];
        uint32_t wanted = count - *got < 8 ? count - *got : 8;
        for (uint32_t index = 0; index < wanted; index++) lines[index] = rows + stride * (*got + index);
        uint32_t read = jpeg_read_scanlines(info, lines, wanted);
        if (read == 0) return;
        if (info->out_color_space == JCS_CMYK)
            for (uint32_t index = 0; index < read; index++)
                convert_cmyk(lines[index], info->output_width, info->saw_Adobe_marker, core->raw_cmyk);
        *got += read;
    }
}
