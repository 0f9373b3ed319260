package locks;

/** A lock that the thread that has it may take again. */
interface Reentrant extends Protocol.Lock {
    /** Takes it twice and gives it back twice in one thread, then takes it in another one, which holds it. */
    Protocol.Grant acquireReentered(String resource, String owner, long waitMs) throws Exception;
}
