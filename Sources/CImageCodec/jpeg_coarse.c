#include "jpeg_coarse.h"

#include <string.h>

// At 1/8 of its size a pixel is the first coefficient of its block: the other 63 need neither be decoded nor held.

static bool is_coarse(const icodec_jpeg_coarse *coarse, unsigned identifier) {
    for (int index = 0; index < coarse->count; index++)
        if (coarse->components[index].is_coarse && coarse->components[index].identifier == identifier) return true;
    return false;
}

/// Records the accuracy that an omitted scan would have brought.
static void note(icodec_jpeg_coarse *coarse, unsigned identifier, unsigned first, unsigned last, int accuracy) {
    for (int index = 0; index < coarse->count; index++)
        if (coarse->components[index].identifier == identifier)
            for (unsigned place = first; place <= last && place < DCTSIZE2; place++)
                coarse->components[index].accuracy[place] = (int8_t)accuracy;
}

bool icodec_jpeg_coarse_misses(const icodec_jpeg_coarse *coarse, int component, int place, bool of_any) {
    int accuracy = coarse->components[component].accuracy[place];
    return place > 0 && coarse->components[component].is_coarse && (of_any ? accuracy != 0 : accuracy > 0);
}

/// Examines a complete marker segment; true if it starts a scan to be omitted.
static bool starts_unneeded_scan(icodec_jpeg_coarse *coarse) {
    const uint8_t *bytes = coarse->segment;
    size_t count = coarse->held;
    // FF DA, a length, one component: its identifier, its tables, then the first and last place, and the accuracy.
    if (bytes[1] != 0xDA || count != 10 || bytes[4] != 1 || bytes[7] == 0 || !is_coarse(coarse, bytes[5])) return false;
    note(coarse, bytes[5], bytes[7], bytes[8], bytes[9] & 15);
    coarse->skipped++;
    return true;
}

/// One byte of a marker segment. Segments of scans are held back until they are whole, others pass as they come.
static size_t take_segment_byte(icodec_jpeg_coarse *coarse, uint8_t byte, uint8_t *to) {
    size_t written = 0;
    coarse->segment[coarse->held < sizeof coarse->segment ? coarse->held : sizeof coarse->segment - 1] = byte;
    coarse->held++;
    if (coarse->held == 4) {
        coarse->left = ((size_t)coarse->segment[2] << 8 | byte);
        coarse->left = coarse->left > 2 ? coarse->left - 2 : 0;
        coarse->holds = coarse->segment[1] == 0xDA && coarse->left == 6;
        if (!coarse->holds) {
            memcpy(to, coarse->segment, 4);
            written = 4;
        }
    } else if (coarse->held > 4) {
        coarse->left--;
        if (!coarse->holds) to[written++] = byte;
    }
    if (coarse->held >= 4 && coarse->left == 0) {
        bool is_scan = coarse->segment[1] == 0xDA;
        coarse->drops = coarse->holds && starts_unneeded_scan(coarse);
        if (coarse->holds && !coarse->drops) {
            memcpy(to, coarse->segment, 10);
            written = 10;
        }
        coarse->holds = false;
        coarse->held = 0;
        // Between segments there is nothing but markers; what a scan's segment is followed by are its data.
        if (!is_scan) coarse->drops = false;
        coarse->is_in_segment = false;
    }
    return written;
}

size_t icodec_jpeg_coarse_filter(icodec_jpeg_coarse *coarse, const uint8_t *from, size_t count, uint8_t *to) {
    size_t written = 0;
    for (size_t index = 0; index < count; index++) {
        uint8_t byte = from[index];
        if (coarse->is_in_segment) {
            written += take_segment_byte(coarse, byte, to + written);
            continue;
        }
        if (!coarse->after_ff) {
            if (byte == 0xFF) coarse->after_ff = true;
            else if (!coarse->drops) to[written++] = byte;
            continue;
        }
        if (byte == 0xFF) {
            // A fill byte: one of them is enough.
            continue;
        }
        coarse->after_ff = false;
        bool stands_alone = byte == 0 || byte == 0x01 || (byte >= 0xD0 && byte <= 0xD9);
        if (stands_alone) {
            if (byte >= 0xD8) coarse->drops = false;
            if (byte == 0xD9) coarse->has_end = true;
            if (!coarse->drops) {
                to[written++] = 0xFF;
                to[written++] = byte;
            }
            continue;
        }
        coarse->is_in_segment = true;
        coarse->drops = false;
        coarse->segment[0] = 0xFF;
        coarse->segment[1] = byte;
        coarse->held = 2;
    }
    return written;
}

// The arrays of coefficients, of which only the first of each block is kept. libjpeg sees the rows that it asks for, whole.

static icodec_jpeg_coarse *coarse_of(j_common_ptr info) {
    return ((icodec_jpeg_core *)info->client_data)->coarse;
}

static jvirt_barray_ptr request(
    j_common_ptr info, int pool, boolean zero, JDIMENSION columns, JDIMENSION rows, JDIMENSION most) {
    icodec_jpeg_coarse *coarse = coarse_of(info);
    int index = coarse->requested++;
    if (index >= coarse->count || !coarse->components[index].is_coarse)
        return coarse->request(info, pool, zero, columns, rows, most);
    icodec_jpeg_coarse_array *array = &coarse->components[index].array;
    size_t count = (size_t)columns * rows;
    array->columns = columns;
    array->rows = rows;
    array->first = info->mem->alloc_large(info, JPOOL_IMAGE, count * sizeof *array->first);
    memset(array->first, 0, count * sizeof *array->first);
    array->window = info->mem->alloc_large(info, JPOOL_IMAGE, (size_t)columns * most * sizeof(JBLOCK));
    array->lines = info->mem->alloc_small(info, JPOOL_IMAGE, most * sizeof(JBLOCKROW));
    for (JDIMENSION row = 0; row < most; row++) array->lines[row] = array->window + (size_t)row * columns;
    array->most = most;
    return (jvirt_barray_ptr)array;
}

static JBLOCKARRAY access_rows(
    j_common_ptr info, jvirt_barray_ptr pointer, JDIMENSION start, JDIMENSION count, boolean writes) {
    icodec_jpeg_coarse *coarse = coarse_of(info);
    icodec_jpeg_coarse_array *array = NULL;
    for (int index = 0; index < coarse->count; index++)
        if (pointer == (jvirt_barray_ptr)&coarse->components[index].array) array = &coarse->components[index].array;
    if (!array) return coarse->access(info, pointer, start, count, writes);
    if (count > array->most || start > array->rows || count > array->rows - start)
        icodec_jpeg_leave(info->client_data, ICODEC_INTERNAL, "rows of coefficients that there are not");
    // The rows written before, followed by the requested ones.
    size_t held = (size_t)array->columns * array->held;
    int16_t *at = array->first + (size_t)array->columns * array->start;
    for (size_t index = 0; index < held; index++) at[index] = array->window[index][0];
    array->start = start;
    array->held = count;
    held = (size_t)array->columns * count;
    at = array->first + (size_t)array->columns * start;
    memset(array->window, 0, held * sizeof(JBLOCK));
    for (size_t index = 0; index < held; index++) array->window[index][0] = at[index];
    return array->lines;
}

void icodec_jpeg_coarse_prepare(icodec_jpeg_coarse *coarse, icodec_jpeg_core *core) {
    j_decompress_ptr info = &core->info;
    jpeg_calc_output_dimensions(info);
    coarse->count = info->num_components < 4 ? info->num_components : 4;
    for (int index = 0; index < coarse->count; index++) {
        const jpeg_component_info *component = &info->comp_info[index];
#if JPEG_LIB_VERSION >= 70
        coarse->components[index].is_coarse = component->DCT_h_scaled_size == 1 && component->DCT_v_scaled_size == 1;
#else
        coarse->components[index].is_coarse = component->DCT_scaled_size == 1;
#endif
        coarse->components[index].identifier = (unsigned)component->component_id;
        memset(coarse->components[index].accuracy, -1, DCTSIZE2);
    }
    // It would guess the coefficients that are left out.
    info->do_block_smoothing = FALSE;
    core->coarse = coarse;
    coarse->request = info->mem->request_virt_barray;
    coarse->access = info->mem->access_virt_barray;
    info->mem->request_virt_barray = request;
    info->mem->access_virt_barray = access_rows;
}
