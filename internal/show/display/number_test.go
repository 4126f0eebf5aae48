package display

import (
	"strings"
	"testing"
	"time"
)

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 842: "842", -842: "-842", 1000: "1.0 k", 12806937: "12.8 M", 99_949: "99.9 k", 128_000: "128 k", 999_600: "1.0 M", -12_806: "-12.8 k"} {
		if got := strings.ReplaceAll(Number(n), space, " "); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestWork(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "", -time.Hour: "", 300 * time.Microsecond: "", 40 * time.Millisecond: "40 ms", 2340 * time.Millisecond: "2.3 s", 45 * time.Second: "45 s",
		12 * time.Minute: "12 min", 200 * time.Minute: "3 h 20 min", 2 * time.Hour: "2 h", 31*time.Hour + 40*time.Minute: "32 h"} {
		if got := strings.ReplaceAll(Work(d), space, " "); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
