/// Version 3 to 4: lists and pins.
extension SchemaMigration {
    static let version4 = """
        \(ListSchema.tables)
        \(PinSchema.tables)
        """
}
