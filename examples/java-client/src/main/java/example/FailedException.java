package example;

/** It was certainly not done, and never will be. */
final class FailedException extends RuntimeException {
    FailedException(String reason) {
        super(reason);
    }
}
