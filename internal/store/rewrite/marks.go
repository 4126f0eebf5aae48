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

// marks matches marks of masked texts.
var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[redacted(?::[^:\]]*:[^\]]+)?\]`) })

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
