import RemoteStore
import Testing

struct RemoteStoreConfigurationTests {
    @Test func `a longer time-out also extends the time for the whole object, unless that was set`() throws {
        var configuration = RemoteStoreConfiguration(
            location: try S3Location("s3://bucket/a"), credentials: S3Credentials(accessKeyID: "a", secretKey: "b"))
        #expect(configuration.readTimeout == .seconds(5) && configuration.slowResponse == .milliseconds(500))
        configuration.firstByteTimeout = .milliseconds(100)
        #expect(configuration.readTimeout == .seconds(5) && configuration.slowResponse == .milliseconds(500))
        configuration.firstByteTimeout = .seconds(4)
        #expect(configuration.readTimeout == .seconds(20) && configuration.slowResponse == .seconds(2))
        configuration.readTimeout = .seconds(3)
        configuration.slowResponse = .seconds(9)
        #expect(configuration.readTimeout == .seconds(3) && configuration.slowResponse == .seconds(9))
    }
}
