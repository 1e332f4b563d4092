/// A partial's two files, open for reading, and its record.
struct PartialFiles {
    let record: PartialRecord
    let recordFile: File
    let data: File
}
