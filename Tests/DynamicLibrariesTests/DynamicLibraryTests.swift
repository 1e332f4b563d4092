import DynamicLibraries
import Glibc
import Testing

struct DynamicLibraryTests {
    private struct Length: Sendable {
        typealias Call = @convention(c) (UnsafePointer<CChar>) -> Int

        let call: Call

        init?(_ symbols: DynamicLibrarySymbols) {
            guard let call = symbols.function("strlen", as: Call.self) else { return nil }
            self.call = call
        }
    }

    private struct Missing: Sendable {
        init?(_ symbols: DynamicLibrarySymbols) {
            guard symbols.function("imgcache_missing", as: Length.Call.self) != nil else { return nil }
        }
    }

    @Test func `the functions of a library are found by their names`() throws {
        let length = try #require(DynamicLibrary("libc.so.6", Length.init).functions())
        #expect(length.call("four") == 4)
    }

    @Test func `a library that is missing or lacks a function has no functions`() {
        #expect(DynamicLibrary("libimgcache-missing.so.0", Length.init).functions() == nil)
        #expect(DynamicLibrary("libc.so.6", Missing.init).functions() == nil)
    }

    @Test func `a library that could not be opened is tried again`() throws {
        let tries = Tries()
        // The first attempt simulates a process without free descriptors.
        let library = DynamicLibrary("libc.so.6") { symbols in tries.next() == 1 ? nil : Length(symbols) }
        #expect(library.functions() == nil)
        #expect(library.functions()?.call("four") == 4)
        #expect(library.functions()?.call("") == 0)
        #expect(tries.count == 2, "an open library is not opened again")
    }
}

private final class Tries: @unchecked Sendable {
    // Used by one test, on its thread.
    private(set) var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}
