package jsonl

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// scanned returns the number, offset and text of each line, as a Scanner
// reads them.
func scanned(t *testing.T, r io.Reader, limit int) []string {
	t.Helper()
	var got []string
	s := NewScanner(r, limit)
	for {
		line, err := s.Next()
		var long *TooLongError
		switch {
		case errors.Is(err, io.EOF):
			if _, err := s.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("Next after the end: %v, want io.EOF", err)
			}
			return got
		case errors.As(err, &long):
			if !errors.Is(err, ErrTooLong) || long.Line != s.Line() || long.Limit != limit || line != nil {
				t.Fatalf("too long: got %#v with the line %q, want line %d and limit %d, and no text", long, line, s.Line(), limit)
			}
			line = []byte("TOO LONG")
		case err != nil:
			t.Fatal(err)
		}
		got = append(got, strconv.Itoa(s.Line())+"@"+strconv.FormatInt(s.Offset(), 10)+" "+string(line))
	}
}

// modelled returns the same as scanned, in a slow and simple way.
func modelled(src []byte, limit int) (want []string) {
	offset := 0
	for i, line := range bytes.SplitAfter(src, []byte{'\n'}) {
		if len(line) == 0 {
			break
		}
		text := trimEnd(line)
		if len(text) > limit {
			text = []byte("TOO LONG")
		}
		want = append(want, strconv.Itoa(i+1)+"@"+strconv.Itoa(offset)+" "+string(text))
		offset += len(line)
	}
	return want
}

func checkScanner(t *testing.T, src []byte, limit int) {
	t.Helper()
	want := modelled(src, limit)
	for name, r := range map[string]io.Reader{
		"whole":    bytes.NewReader(src),
		"bytes":    iotest.OneByteReader(bytes.NewReader(src)),
		"halves":   iotest.HalfReader(bytes.NewReader(src)),
		"with EOF": iotest.DataErrReader(bytes.NewReader(src)),
	} {
		if got := scanned(t, r, limit); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, limit %d: got %.300q, want %.300q", name, limit, got, want)
		}
	}
}

func TestScanner(t *testing.T) {
	for _, src := range []string{"", "\n", "a", "a\n", "a\r\n", "a\r", "\r\n\r\n", "ab\nabc\nabcd\nabcde\n", "abc\r\nabcd\r\nabcde\r\n",
		"abcdefgh", "abcd\r", "abcd\r\r\n", "abcde\nx", "\n\nabcdefghijkl\n\nx\r\n"} {
		for _, limit := range []int{1, 3, 4, 5, 100} {
			checkScanner(t, []byte(src), limit)
		}
	}
}

// Lines may be about as long as the buffer, and as the limit.
func TestScannerBuffer(t *testing.T) {
	for _, n := range []int{bufferSize - 2, bufferSize - 1, bufferSize, bufferSize + 1, 2*bufferSize + 3} {
		line := strings.Repeat("x", n)
		src := []byte("a\n" + line + "\nb\n" + line + "\r\n" + line[:n/2] + "\n" + line)
		for _, limit := range []int{10, n - 1, n, n + 1, 10 * n} {
			checkScanner(t, src, limit)
		}
	}
}

func TestScannerMemory(t *testing.T) {
	src := strings.Repeat("x", 4<<20) + "\nend\n"
	s := NewScanner(strings.NewReader(src), 100_000)
	if _, err := s.Next(); !errors.Is(err, ErrTooLong) {
		t.Fatalf("the long line: %v, want ErrTooLong", err)
	}
	if line, err := s.Next(); string(line) != "end" || err != nil {
		t.Fatalf("the line after it: %q, %v; want \"end\"", line, err)
	}
	if cap(s.long) > 400_000 {
		t.Errorf("the buffer has %d bytes, want at most 400000", cap(s.long))
	}
	s = NewScanner(strings.NewReader(src), math.MaxInt)
	if line, err := s.Next(); len(line) != 4<<20 || err != nil {
		t.Fatalf("without a limit: %d bytes, %v; want %d bytes", len(line), err, 4<<20)
	}
}

func TestScannerErrors(t *testing.T) {
	broken := errors.New("broken")
	s := NewScanner(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0)
	if line, err := s.Next(); string(line) != "a" || err != nil {
		t.Fatalf("the first line: %q, %v; want \"a\"", line, err)
	}
	for range 2 {
		if line, err := s.Next(); line != nil || !errors.Is(err, broken) {
			t.Fatalf("the broken line: %q, %v; want the reader's error", line, err)
		}
	}
	s = NewScanner(stuck{}, 0)
	if _, err := s.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("a reader without progress: %v, want io.ErrNoProgress", err)
	}
	if err := error(&TooLongError{Line: 3, Limit: 10}); err.Error() != "line 3 is longer than 10 bytes" {
		t.Error(err)
	}
}

// stuck is a reader that never has anything.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func FuzzScanner(f *testing.F) {
	f.Add([]byte("a\r\nbcd\n\nefghij"), 3)
	f.Fuzz(func(t *testing.T, src []byte, limit int) {
		if limit > 0 {
			checkScanner(t, src, limit)
		}
	})
}
