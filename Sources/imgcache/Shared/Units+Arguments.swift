import ArgumentParser
import Units

extension ByteSize: ExpressibleByArgument {
    package init?(argument: String) { self.init(text: argument) }
}

extension TimeSpan: ExpressibleByArgument {
    package init?(argument: String) { self.init(text: argument) }
}
