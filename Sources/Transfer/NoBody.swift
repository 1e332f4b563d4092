/// A sink for responses without content, such as one to HEAD.
package final class NoBody: BodySink {
    package init() {}

    package func held() -> HeldPartial? { nil }
    package func begin(_ head: ResponseHead, _ placement: BodyPlacement) {}
    package func write(_ bytes: UnsafeRawBufferPointer) -> WriteResult { .accepted }
    package func end(_ ending: AttemptEnding) {}
}
