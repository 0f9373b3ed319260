package example;

/** The fence refused a write. */
final class StaleException extends RuntimeException {}
