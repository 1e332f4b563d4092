/// A body's complete file, before its row is inserted.
struct FinishedBody {
    let size: Int64
    let allocated: Int64
    let checksum: Checksum
    let boot: Int64
    /// The partial that it was, and its reservation.
    var partial: (id: Int64, reserved: Int64)?
    /// True if look-ups never find it: it is doomed in the transaction that creates it.
    var isTransient = false
}
