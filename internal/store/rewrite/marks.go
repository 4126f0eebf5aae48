package rewrite

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// redacted replaces a text that was taken out as a whole. The mark of a secret that the scanner found
// begins in the same way, followed by its rule and fingerprint.
const redacted = "[redacted]"

// marks matches marks of masked texts, with rule and fingerprint if they have them.
var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[redacted(?::([^:\]]*):([^\]]+))?\]`) })

// MaskedTexts returns the texts that masking took out of was, and the marks in is that replace them. It
// returns false if masking alone did not turn one into the other.
func MaskedTexts(was, is string) (gone, put []string, ok bool) {
	put = marks().FindAllString(is, -1)
	if len(put) == 0 {
		return nil, nil, was == is
	}
	plain := marks().Split(is, -1)
	rest, ok := strings.CutPrefix(was, plain[0])
	if !ok {
		return nil, nil, false
	}
	for i, text := range plain[1:] {
		at := strings.Index(rest, text)
		if i == len(put)-1 && at >= 0 { // both end with what follows the last mark
			at = len(strings.TrimSuffix(rest, text))
		}
		if at < 0 || !strings.HasPrefix(rest[at:], text) {
			return nil, nil, false
		}
		gone, rest = append(gone, rest[:at]), rest[at+len(text):]
	}
	return gone, put, true
}

// Ranges formats ascending ids as 3,5-9.
func Ranges(ids []int64) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		n := i + 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if fmt.Fprint(&b, ids[i]); n > i+1 {
			fmt.Fprintf(&b, "-%d", ids[n-1])
		}
		i = n
	}
	return b.String()
}
