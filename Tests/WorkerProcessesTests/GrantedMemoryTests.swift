import Glibc
import Testing

@testable import WorkerProcesses

/// Files in memory that a worker asks for.
struct GrantedMemoryTests {
    private let page = Int(sysconf(Int32(_SC_PAGESIZE)))

    private func number(_ answer: WorkerMessage) -> Int64 {
        var numbers = Numbers(answer.bytes[...])
        return numbers.next() ?? -1
    }

    private func size(_ file: OpenDescriptor) -> Int {
        var status = stat()
        return fstat(file.number, &status) == 0 ? Int(status.st_size) : -1
    }

    @Test func `a worker's files are together no larger than its limit`() {
        var memory = GrantedMemory(limit: 10 * page)
        let first = memory.grant(Int64(6 * page))
        #expect(number(first) > 0 && first.descriptors.count == 1)
        let second = memory.grant(Int64(5 * page))
        #expect(number(second) == 0)
        // Each takes whole pages.
        let rest = (0..<10).map { _ in memory.grant(1) }
        #expect(rest.filter { number($0) > 0 }.count == 4 && memory.size == 10 * page)
        let (isFreed, again) = (memory.free(number(first)), memory.grant(Int64(6 * page)))
        #expect(isFreed && number(again) > 0)
        for size in [0, -1, Int64.min, Int64.max, Int64(11 * page)] {
            let refused = memory.grant(size)
            #expect(number(refused) == 0)
        }
    }

    @Test func `a file that a worker gives back is empty, also for the descriptor that the worker keeps`() throws {
        var memory = GrantedMemory(limit: 10 * page)
        let answer = memory.grant(Int64(3 * page))
        let kept = try #require(answer.descriptors.first)
        #expect(size(kept) == 3 * page)
        let (isFreed, isFreedTwice) = (memory.free(number(answer)), memory.free(number(answer)))
        #expect(isFreed && !isFreedTwice && size(kept) == 0 && memory.size == 0)
        // It cannot grow again.
        #expect(ftruncate(kept.number, off_t(page)) == -1 && pwrite(kept.number, "x", 1, 0) == -1)
    }

    @Test func `all files of a worker are empty after its work`() throws {
        var memory = GrantedMemory(limit: 10 * page)
        let kept = try (0..<3).map { _ in try #require(memory.grant(Int64(page)).descriptors.first) }
        memory.freeAll()
        #expect(kept.allSatisfy { size($0) == 0 } && memory.size == 0)
    }

    @Test func `a worker has no more files than descriptors, however small they are`() {
        var memory = GrantedMemory(limit: 1000 * page)
        let granted = (0..<100).filter { _ in number(memory.grant(1)) > 0 }
        #expect(granted.count == GrantedMemory.mostFiles)
    }

    @Test func `a file in an answer passes to the program, and must be one that the program granted`() throws {
        var memory = GrantedMemory(limit: 10 * page)
        let answer = memory.grant(Int64(2 * page))
        let file = try #require(answer.descriptors.first)
        let copy = OpenDescriptor(owning: dup(file.number))
        let (isAdopted, isAdoptedTwice) = (memory.adopt(copy), memory.adopt(copy))
        #expect(isAdopted && !isAdoptedTwice && memory.size == 0 && size(copy) == 2 * page)
        memory.freeAll()
        #expect(size(copy) == 2 * page)
        let other = OpenDescriptor(owning: open("/dev/null", O_RDONLY))
        let isOtherAdopted = memory.adopt(other)
        #expect(!isOtherAdopted)
    }
}
