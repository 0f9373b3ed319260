package example;

/** The request certainly had no effect, and never will. */
final class FailedException extends RuntimeException {
    FailedException(String reason) {
        super(reason);
    }
}
