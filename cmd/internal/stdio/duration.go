package stdio

import (
	"strconv"
	"strings"
	"time"

	"tape/internal/store/layout"
)

// ReadDuration parses a period of validity such as 12h, 90d or 2w, of at most ten years. Errors: ErrInvalid.
func ReadDuration(text string) (time.Duration, error) {
	const day, most = 24 * time.Hour, 10 * 366 * 24 * time.Hour
	d, err := time.ParseDuration(text)
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			var count uint64
			count, err = strconv.ParseUint(n, 10, 14)
			d = time.Duration(count) * length //nolint:gosec // of 14 bits
		}
	}
	if err != nil || d <= 0 || d > most {
		return 0, layout.Invalid("give a time such as 12h, 90d or 52w, at most ten years", "%q is not a period of validity", text)
	}
	return d, nil
}
