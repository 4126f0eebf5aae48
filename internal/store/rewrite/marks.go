package rewrite

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// redacted stands for a text that was taken out as a whole. What stands for a secret that
// the scanner knows begins alike, and says which it was.
const redacted = "[redacted]"

// marks matches what stands for something that was masked, with the rule and the fingerprint.
var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[redacted(?::([^:\]]*):([^\]]+))?\]`) })

// TakenOut tells what a text has lost that became another one by masking, and the marks
// that stand for it; false if that is not how it became so.
func TakenOut(was, is string) (gone, put []string, ok bool) {
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
		if i == len(put)-1 && at >= 0 { // what is after the last mark ends both
			at = len(strings.TrimSuffix(rest, text))
		}
		if at < 0 || !strings.HasPrefix(rest[at:], text) {
			return nil, nil, false
		}
		gone, rest = append(gone, rest[:at]), rest[at+len(text):]
	}
	return gone, put, true
}

// Ranges writes ids, in order, as 3,5-9.
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
