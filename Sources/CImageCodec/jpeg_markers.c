#include "jpeg_internal.h"

#include <string.h>

/// Makes sure of one byte in the buffer; false where the input pauses.
static bool fill(j_decompress_ptr info) {
    return info->src->bytes_in_buffer > 0 || info->src->fill_input_buffer(info);
}

static bool next(j_decompress_ptr info, unsigned *byte) {
    if (!fill(info)) return false;
    *byte = *info->src->next_input_byte++;
    info->src->bytes_in_buffer--;
    return true;
}

/// The first Exif block of the file, without its "Exif\0\0".
static void take_exif(icodec_jpeg_core *core, const uint8_t *bytes, size_t count) {
    if (core->has_exif || count < 6 || memcmp(bytes, "Exif\0", 5) != 0) return;
    if (count - 6 > core->limits.ancillary) icodec_jpeg_leave(core, ICODEC_LIMIT, "an Exif block larger than allowed");
    core->has_exif = icodec_append(&core->exif, bytes + 6, count - 6);
}

/// One part of a profile: number and count of parts follow the name. A profile with a part missing or out of order is
/// no profile.
static void take_profile(icodec_jpeg_core *core, const uint8_t *bytes, size_t count) {
    if (count < 14 || memcmp(bytes, "ICC_PROFILE\0", 12) != 0) return;
    unsigned number = bytes[12], parts = bytes[13];
    if (core->icc_next == 0) {
        core->icc_parts = parts;
        core->icc_next = 1;
    }
    if (number != core->icc_next || parts != core->icc_parts || number > parts) {
        core->icc_is_broken = true;
        return;
    }
    core->icc_next++;
    if (core->icc.count + count - 14 > core->limits.ancillary)
        icodec_jpeg_leave(core, ICODEC_LIMIT, "a colour profile larger than allowed");
    if (!icodec_append(&core->icc, bytes + 14, count - 14)) core->icc_is_broken = true;
}

boolean icodec_jpeg_take_marker(j_decompress_ptr info) {
    icodec_jpeg_core *core = info->client_data;
    struct jpeg_source_mgr *input = info->src;
    if (core->suspends) {
        // All of the marker or nothing: libjpeg comes again with the same bytes.
        if (input->bytes_in_buffer < 2) return FALSE;
        size_t length = (size_t)input->next_input_byte[0] << 8 | input->next_input_byte[1];
        if (input->bytes_in_buffer < length) return FALSE;
    }
    unsigned high = 0, low = 0;
    if (!next(info, &high) || !next(info, &low)) return FALSE;
    size_t length = (size_t)high << 8 | low;
    if (length < 2) icodec_jpeg_leave(core, ICODEC_CORRUPT, "a marker segment shorter than its own length field");
    length -= 2;
    if (!icodec_work_on(&core->work, 0, core->error)) longjmp(core->jump, 1);
    uint8_t bytes[65536];
    size_t count = 0;
    while (count < length) {
        if (!fill(info)) return FALSE;
        if (core->at_end) icodec_jpeg_leave(core, ICODEC_TRUNCATED, "the file ends within a marker segment");
        size_t part = input->bytes_in_buffer < length - count ? input->bytes_in_buffer : length - count;
        memcpy(bytes + count, input->next_input_byte, part);
        input->next_input_byte += part;
        input->bytes_in_buffer -= part;
        count += part;
    }
    if (info->unread_marker == JPEG_APP0 + 1) take_exif(core, bytes, length);
    if (info->unread_marker == JPEG_APP0 + 2) take_profile(core, bytes, length);
    return TRUE;
}
