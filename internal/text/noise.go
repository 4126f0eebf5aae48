package text

import (
	"bytes"

	"tape/internal/text/jsonl"
)

// RepeatedHistory is the member of an anchor with the history that a compaction of Codex repeats. Like lists of ids, it
// says nothing that is not said elsewhere.
const RepeatedHistory = "replacement_history"

// uuidLength is that of a UUID: 8-4-4-4-12 hexadecimal digits.
const uuidLength = 36

// AreIDs reports whether a value is a list of nothing but UUIDs.
func AreIDs(raw []byte) bool {
	list := jsonl.Strings(raw)
	for _, id := range list {
		if len(id) != uuidLength || !BeginsWithUUID([]byte(id)) {
			return false
		}
	}
	return len(list) > 0
}

// BeginsWithUUID reports whether a text begins with a UUID.
func BeginsWithUUID(text []byte) bool {
	if len(text) < uuidLength {
		return false
	}
	for i, c := range text[:uuidLength] {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !bytes.ContainsRune([]byte("0123456789abcdefABCDEF"), rune(c)) {
			return false
		}
	}
	return true
}
