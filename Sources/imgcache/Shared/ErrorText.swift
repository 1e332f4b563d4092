import Glibc

/// The system's description of an `errno` value.
func errorText(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
