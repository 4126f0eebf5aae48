package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strconv"
	"unicode/utf8"

	"tape/internal/text/jsonl"
)

// PutDamaged emits an event with a damaged line, unless the tape has it. counts tells identical lines apart.
func (r *Reading) PutDamaged(fork string, at Span, reason string, counts *Counter) {
	r.Stats.Damaged++
	r.Stats.problem(at.Line, reason)
	h := sha256.New()
	if _, err := io.Copy(h, r.section(at)); err != nil {
		r.Fail(err)
		return
	}
	sum := h.Sum(nil)
	fork = cmp.Or(fork, r.Home)
	key := "damaged:" + counts.HashKey(sum)
	if !r.Seen(fork, key) {
		p := Event(key, "", eventDamaged, damagedData(reason, at.Size, r.section(at)))
		p.Fork = fork
		r.Put(p)
	}
}

const tooLarge = "larger than an entry may be"

// TooLarge returns the event import.damaged instead of an entry that is too large even without its texts and files.
func (s *Stats) TooLarge(d jsonl.Draft) jsonl.Draft {
	s.problem(0, "record "+jsonl.GetString(d.Meta, "source", "ids")+": "+tooLarge)
	d.Payload = named(eventDamaged, "data", damagedData(tooLarge, int64(len(d.Payload)), bytes.NewReader(d.Payload)))
	d.Kind = KindEvent
	return d
}

// Unfinished notes the problem that the last line is incomplete, unless the source is open.
func (r *Reading) Unfinished(at Span) {
	if !r.Open {
		r.Stats.problem(at.Line, "not finished yet: the next import looks at it again")
	}
}

// keptHead is how many bytes are kept of a text that does not fit into an entry.
const keptHead = 64 << 10

// damagedData describes a text that is not a record: the text itself if it fits, otherwise its size,
// hash and beginning.
func damagedData(reason string, size int64, r io.Reader) []byte {
	h := sha256.New()
	head, _ := io.ReadAll(io.LimitReader(r, min(size, MaxEntry)))
	h.Write(head)
	if size <= MaxEntry {
		// Quoting rarely makes a text much longer, but a control character takes six bytes, and
		// base64 may be added.
		try := NewObject(len(head)+len(head)/8).Str("error", reason).addText(head)
		if size < MaxEntry/8 || len(try.b) < MaxEntry-4096 {
			return try.Done()
		}
	}
	_, _ = io.Copy(h, r)
	o := NewObject(keptHead).Str("error", reason).Raw("size", strconv.AppendInt(nil, size, 10))
	o.Str("sha256", hex.EncodeToString(h.Sum(nil)))
	head = head[:min(len(head), keptHead)]
	// Do not cut a character in two.
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head[max(0, len(head)-utf8.UTFMax):]); i++ {
		head = head[:len(head)-1]
	}
	return o.addText(head).Done()
}

func (o *Object) addText(raw []byte) *Object {
	o.Str("raw", string(raw))
	if !utf8.Valid(raw) {
		o.Str("raw_base64", base64.StdEncoding.EncodeToString(raw))
	}
	return o
}
