#include <stdlib.h>
#include <string.h>

#include "icodec_avif.h"
#include "internal.h"

// libavif looks for each item among all others, keeps a structure for each entry of a table, and a decoder for each cell of a grid. So boxes and
// entries are counted before it gets the file. A broken box ends its container here without an error: libavif ends there, too, and says why.

enum { most_depth = 8 };

typedef struct {
    const uint8_t *at, *end;
} span;

typedef struct {
    uint32_t id, from;
} reference;

typedef struct {
    uint32_t width, height;
    bool is_quarter; // a rotation by one or three quarters
} extent;

typedef struct {
    icodec_avif_boxes *found;
    icodec_error *error;
    size_t file;
    uint32_t primary; // the item that is the image
    size_t cell_count, size_count;
    reference cells[icodec_avif_most_items]; // to images that others are put together of
    extent sizes[icodec_avif_most_properties]; // those of properties that are sizes
} scanner;

static bool is_type(const uint8_t *type, const char *name) { return memcmp(type, name, 4) == 0; }

/// Takes a number of so many bytes; false if there are fewer.
static bool take(span *from, size_t count, uint64_t *number) {
    if ((size_t)(from->end - from->at) < count) return false;
    *number = 0;
    for (size_t index = 0; index < count; index++) *number = *number << 8 | from->at[index];
    from->at += count;
    return true;
}

static bool skip(span *from, uint64_t count) {
    if ((uint64_t)(from->end - from->at) < count) return false;
    from->at += count;
    return true;
}

/// Takes the version of a full box, and its flags.
static bool take_version(span *from, uint64_t *version, uint64_t *flags) {
    return take(from, 1, version) && take(from, 3, flags);
}

/// Takes the next box of a container; false at its end, or at a box that reaches beyond it.
static bool next_box(span *from, const uint8_t **type, span *content) {
    const uint8_t *start = from->at;
    uint64_t size = 0, word = 0;
    if (!take(from, 4, &size)) return false;
    *type = from->at;
    if (!skip(from, 4)) return false;
    if (size == 1 && !take(from, 8, &size)) return false;
    if (is_type(*type, "uuid") && !skip(from, 16)) return false;
    if (size == 0) size = (uint64_t)(from->end - start);
    if (size < (uint64_t)(from->at - start)) return false;
    word = size - (uint64_t)(from->at - start);
    content->at = from->at;
    if (!skip(from, word)) return false;
    content->end = from->at;
    return true;
}

static bool count(scanner *self, uint64_t *number, uint64_t more, uint64_t most, const char *what) {
    *number += more;
    return *number <= most
        ? true
        : icodec_fail(self->error, ICODEC_LIMIT, -1, "more than %llu %s", (unsigned long long)most, what);
}

static bool count_item(scanner *self, uint64_t *number) {
    return count(self, number, 1, icodec_avif_most_items, "items");
}

static bool count_box(scanner *self) { return icodec_work_on(&self->found->work, 8, self->error); }

/// The items' types.
static bool scan_infos(scanner *self, span box) {
    uint64_t version, flags, number, word;
    if (!take_version(&box, &version, &flags) || !take(&box, version == 0 ? 2 : 4, &number)) return true;
    const uint8_t *type;
    span info;
    while (number-- > 0 && next_box(&box, &type, &info)) {
        if (!count_box(self) || !count_item(self, &self->found->items)) return false;
        if (!take_version(&info, &version, &flags) || !skip(&info, (version < 3 ? 2 : 4) + 2)) continue;
        const uint8_t *kind = info.at;
        if (!take(&info, 4, &word) || !is_type(kind, "Exif")) continue;
        // libavif copies each one, and keeps the last.
        if (!count(self, &self->found->exifs, 1, icodec_avif_most_exifs, "Exif items")) return false;
    }
    return true;
}

/// The items' places: each has any number of extents, which may take no bytes in the table.
static bool scan_locations(scanner *self, span box) {
    uint64_t version, flags, sizes, number, word, extents, length;
    if (!take_version(&box, &version, &flags) || version > 2 || !take(&box, 2, &sizes)) return true;
    size_t offset_size = sizes >> 12, length_size = sizes >> 8 & 15, base_size = sizes >> 4 & 15;
    if (offset_size > 8 || length_size > 8 || base_size > 8) return true;
    if (!take(&box, version < 2 ? 2 : 4, &number)) return true;
    for (; number > 0; number--) {
        if (!skip(&box, (version < 2 ? 2 : 4) + (version > 0 ? 2 : 0) + 2 + base_size) || !take(&box, 2, &extents))
            return true;
        if (!count_item(self, &self->found->locations) ||
            !count(self, &self->found->extents, extents, icodec_avif_most_extents, "extents of items"))
            return false;
        bool is_merged = extents > 1;
        for (; extents > 0; extents--) {
            if (!skip(&box, offset_size) || !take(&box, length_size, &length)) return true;
            // Items do not overlap, so the copied bytes are fewer than those of the file.
            word = length < self->file ? length : self->file;
            if (is_merged && !count(self, &self->found->merged, word, self->file, "bytes of items in parts"))
                return false;
        }
    }
    return true;
}

static bool scan_references(scanner *self, span box) {
    uint64_t version, flags, from, number, to;
    if (!take_version(&box, &version, &flags)) return true;
    size_t size = version == 0 ? 2 : 4;
    const uint8_t *type;
    span list;
    while (next_box(&box, &type, &list)) {
        if (!count_box(self)) return false;
        if (!take(&list, size, &from) || !take(&list, 2, &number)) return true;
        for (; number > 0 && take(&list, size, &to); number--) {
            if (!count(self, &self->found->references, 1, icodec_avif_most_items, "references between items"))
                return false;
            // Within the memory for them, of which there are as many.
            if (is_type(type, "dimg")) self->cells[self->cell_count++] = (reference){(uint32_t)to, (uint32_t)from};
        }
    }
    return true;
}

/// The properties, and the sizes among them.
static bool scan_properties(scanner *self, span box) {
    const uint8_t *type;
    span property;
    while (next_box(&box, &type, &property)) {
        uint64_t word, width, height;
        if (!count_box(self) ||
            !count(self, &self->found->properties, 1, icodec_avif_most_properties, "properties of items"))
            return false;
        // Within its bounds, as many are counted.
        extent *size = &self->sizes[self->size_count++];
        bool is_size = is_type(type, "ispe") && take(&property, 4, &word) && take(&property, 4, &width) &&
            take(&property, 4, &height);
        *size = is_size ? (extent){(uint32_t)width, (uint32_t)height, false} : (extent){0, 0, false};
        if (is_type(type, "irot") && take(&property, 1, &word)) size->is_quarter = word & 1;
        // The decoder configuration of HEVC (ISO/IEC 14496-15 section 8.3.3.1).
        bool is_hevc = is_type(type, "hvcC") && skip(&property, 16) && take(&property, 1, &word);
        if (is_hevc && (word & 3) > self->found->chroma) self->found->chroma = word & 3;
    }
    return true;
}

static int compare(const void *left, const void *right) {
    uint32_t first = ((const reference *)left)->id, second = ((const reference *)right)->id;
    return first < second ? -1 : first > second;
}

/// A side of the planes that a decoder makes. (libavif refuses sides of more than 2^15.)
static uint64_t aligned(uint64_t side) { return side < 1 << 20 ? (side + 127) / 128 * 128 : 1 << 20; }

/// Notes the size of an item, if it is a cell.
static void note_size(scanner *self, uint32_t id, extent size) {
    icodec_avif_boxes *found = self->found;
    size_t low = 0, high = self->cell_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->cells[middle].id < id) low = middle + 1;
        else high = middle;
    }
    uint64_t pixels = aligned(size.width) * aligned(size.height);
    uint32_t side = size.width < size.height ? size.width : size.height;
    for (; low < self->cell_count && self->cells[low].id == id; low++) {
        if (pixels > found->largest_cell) found->largest_cell = pixels;
        if (self->cells[low].from == self->primary && side < found->smallest_side) found->smallest_side = side;
    }
}

static bool scan_associations(scanner *self, span box) {
    uint64_t version, flags, number, id, associations, word;
    if (!take_version(&box, &version, &flags) || !take(&box, 4, &number)) return true;
    size_t index_size = flags & 1 ? 2 : 1;
    for (; number > 0; number--) {
        if (!take(&box, version < 1 ? 2 : 4, &id) || !take(&box, 1, &associations)) return true;
        if (!count_item(self, &self->found->associated) ||
            !count(self, &self->found->associations, associations, icodec_avif_most_associations, "properties of items"))
            return false;
        extent size = {0, 0, false};
        for (; associations > 0; associations--) {
            if (!take(&box, index_size, &word)) return true;
            word &= flags & 1 ? 0x7FFF : 0x7F;
            if (word == 0 || word > self->size_count) continue;
            if (!size.width) size = self->sizes[word - 1];
            if (id == self->primary && self->sizes[word - 1].is_quarter) self->found->is_turned = true;
        }
        if (size.width && size.height) note_size(self, (uint32_t)id, size);
    }
    return true;
}

static bool scan_all_properties(scanner *self, span box) {
    self->size_count = 0;
    const uint8_t *type;
    span part;
    while (next_box(&box, &type, &part)) {
        if (!count_box(self)) return false;
        if (is_type(type, "ipco") && !self->size_count && !scan_properties(self, part)) return false;
        if (is_type(type, "ipma") && !scan_associations(self, part)) return false;
    }
    return true;
}

/// The items of the file, or of a track.
static bool scan_meta(scanner *self, span box) {
    uint64_t version, flags, primary;
    if (!take_version(&box, &version, &flags)) return true;
    span references = {NULL, NULL}, properties = {NULL, NULL}, part;
    const uint8_t *type;
    self->primary = 0;
    while (next_box(&box, &type, &part)) {
        if (!count_box(self)) return false;
        if (is_type(type, "iinf") && !scan_infos(self, part)) return false;
        if (is_type(type, "iloc") && !scan_locations(self, part)) return false;
        // At a second one libavif ends.
        if (is_type(type, "iref") && !references.at) references = part;
        if (is_type(type, "iprp") && !properties.at) properties = part;
        if (is_type(type, "pitm") && take_version(&part, &version, &flags) && take(&part, version ? 4 : 2, &primary))
            self->primary = (uint32_t)primary;
    }
    // References say which items are cells, and properties how large they are. They may occur in either order.
    self->cell_count = 0;
    if (references.at && !scan_references(self, references)) return false;
    qsort(self->cells, self->cell_count, sizeof *self->cells, compare);
    self->found->cells += self->cell_count;
    for (size_t index = 0; index < self->cell_count; index++) self->found->own_cells += self->cells[index].from == self->primary;
    return !properties.at || scan_all_properties(self, properties);
}

/// The descriptions of a track's frames, with properties as items have them.
static bool scan_descriptions(scanner *self, span box) {
    const uint8_t *type;
    span description, property;
    if (!skip(&box, 8)) return true;
    while (next_box(&box, &type, &description)) {
        if (!count_box(self)) return false;
        if (!skip(&description, 78)) continue;
        while (next_box(&description, &type, &property))
            if (!count_box(self) ||
                !count(self, &self->found->properties, 1, icodec_avif_most_properties, "properties"))
                return false;
    }
    return true;
}

/// The tables of a track's frames.
static bool scan_table(scanner *self, const uint8_t *type, span box) {
    static const struct {
        const char *type;
        uint8_t start, size; // of the number of entries, and of each
    } tables[] = {{"stsc", 4, 12}, {"stco", 4, 4}, {"co64", 4, 8}, {"stsz", 8, 4}, {"stss", 4, 4}, {"stts", 4, 8}};
    for (size_t index = 0; index < sizeof tables / sizeof *tables; index++) {
        uint64_t number;
        if (!is_type(type, tables[index].type)) continue;
        if (!skip(&box, tables[index].start) || !take(&box, 4, &number)) return true;
        uint64_t held = (uint64_t)(box.end - box.at) / tables[index].size;
        if (number > held) number = held;
        // Each chunk is looked for in all of the first table.
        return index == 0
            ? count(self, &self->found->runs, number, icodec_avif_most_items, "runs of chunks")
            : count(self, &self->found->entries, number, icodec_most_items, "entries of tables of frames");
    }
    return true;
}

static bool scan_boxes(scanner *self, span boxes, int depth) {
    static const char *const containers[] = {"moov", "trak", "mdia", "minf", "stbl"};
    const uint8_t *type;
    span box;
    while (next_box(&boxes, &type, &box)) {
        if (!count_box(self)) return false;
        if (is_type(type, "trak") && !count(self, &self->found->tracks, 1, icodec_avif_most_tracks, "tracks")) return false;
        if (is_type(type, "meta") && !scan_meta(self, box)) return false;
        if (is_type(type, "stsd") && !scan_descriptions(self, box)) return false;
        if (!scan_table(self, type, box)) return false;
        for (size_t index = 0; index < sizeof containers / sizeof *containers && depth < most_depth; index++)
            if (is_type(type, containers[index]) && !scan_boxes(self, box, depth + 1)) return false;
    }
    return true;
}

bool icodec_avif_scan(const uint8_t *bytes, size_t count, icodec_avif_boxes *boxes, icodec_error *error) {
    memset(boxes, 0, sizeof *boxes);
    boxes->smallest_side = UINT32_MAX;
    boxes->prefers_items = count >= 12 && is_type(bytes + 8, "avif");
    scanner *self = calloc(1, sizeof *self);
    if (!self) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    self->found = boxes;
    self->error = error;
    self->file = count;
    bool done = scan_boxes(self, (span){bytes, bytes + count}, 0);
    free(self);
    if (!done) return false;
    return boxes->smallest_side >= icodec_avif_least_side
        ? true
        : icodec_fail(
              error, ICODEC_CORRUPT, -1, "a grid with a cell of %u pixels, a side must have %d", boxes->smallest_side,
              icodec_avif_least_side);
}
