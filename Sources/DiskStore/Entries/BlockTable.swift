/// The checksums of the blocks of entries' bodies.
struct BlockTable: StatementRunner {
    let connection: Connection

    func insert(_ checksums: BlockChecksums, of id: Int64) throws(StoreError) {
        try run(.insertBlocks) { $0.bind(1, id).bind(2, checksums.bytes) }
    }

    func checksums(of id: Int64) throws(StoreError) -> BlockChecksums? {
        try first(.blocks, { $0.bind(1, id) }, row: { BlockChecksums(bytes: $0.bytes(0)) })
    }
}

extension Query {
    fileprivate static let insertBlocks: Query = "INSERT INTO blocks (entry, checksums) VALUES (?1, ?2)"
    fileprivate static let blocks: Query = "SELECT checksums FROM blocks WHERE entry = ?1"
}
