package example;

/** The fence rejected a write. */
final class StaleException extends RuntimeException {}
