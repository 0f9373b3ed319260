package protocol

// Granted reports that the lock is granted but its token is still to be fetched: a fault may stop us here.
func Granted() {
	output.Encode(Fields{"event": "granted", "wait": true})
	input.Scan() // the line "go-on"
}
