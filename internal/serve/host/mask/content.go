package mask

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// content is a content that is being masked, and how many secrets it may still have.
type content struct {
	*Masker
	left int
}

// Content is a file without its secrets: a text in UTF-8 or UTF-16, and of anything else what can be
// read in it. All other bytes stay. Of a file with very many secrets there is only a mark.
func (m *Masker) Content(data []byte) []byte {
	c := &content{m, MostSecrets}
	out := c.mask(data)
	if c.left < 0 {
		return []byte(m.withheld())
	}
	return out
}

func (m *content) mask(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	order, from := wide(data)
	plain := utf8.Valid(data)
	switch {
	case order != nil:
		data = m.wide(data, from, order)
	case plain:
		data = m.utf8(data)
	}
	if !plain || bytes.IndexByte(data, 0) >= 0 {
		for _, in := range []encoding{{1, 0}, {2, 0}, {2, 1}} {
			data = m.readable(data, in)
		}
	}
	return data
}

// wide tells a text in UTF-16, by its mark or by its zeros, and where the text begins.
func wide(data []byte) (order binary.AppendByteOrder, from int) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return binary.BigEndian, 2
	}
	var zeros [2]int
	part := data[:min(len(data), 4096)]
	for i, c := range part {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch half := len(part) / 2; {
	case zeros[1] > half*2/5 && zeros[0] < half/50+1:
		return binary.LittleEndian, 0
	case zeros[0] > half*2/5 && zeros[1] < half/50+1:
		return binary.BigEndian, 0
	}
	return nil, 0
}

func (m *content) wide(data []byte, from int, order binary.AppendByteOrder) []byte {
	units := make([]uint16, 0, len(data)/2)
	i := from
	for ; i+1 < len(data); i += 2 {
		a, b := uint16(data[i]), uint16(data[i+1])
		if order == binary.AppendByteOrder(binary.BigEndian) {
			a, b = b, a
		}
		units = append(units, a|b<<8)
	}
	text := []byte(string(utf16.Decode(units)))
	masked := m.utf8(text)
	if bytes.Equal(masked, text) {
		return data
	}
	out := bytes.Clone(data[:from])
	for _, unit := range utf16.Encode([]rune(string(masked))) {
		out = order.AppendUint16(out, unit)
	}
	return append(out, data[i:]...)
}

// encoding is how a readable character stands among other bytes: in one byte, or beside a zero.
type encoding struct{ width, at int }

func (in encoding) char(data []byte) (c byte, ok bool) {
	if len(data) < in.width {
		return 0, false
	}
	c = data[in.at]
	ok = c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t'
	return c, ok && (in.width == 1 || data[1-in.at] == 0)
}

func (in encoding) append(dst []byte, text []byte) []byte {
	for _, c := range text {
		switch {
		case in.width == 1:
			dst = append(dst, c)
		case in.at == 0:
			dst = append(dst, c, 0)
		default:
			dst = append(dst, 0, c)
		}
	}
	return dst
}

// readable masks the runs of characters that can be read.
func (m *content) readable(data []byte, in encoding) []byte {
	const least = 6 // characters of a secret
	var out, run []byte
	done := 0
	for i := 0; i < len(data); {
		from := i
		run = run[:0]
		for c, ok := in.char(data[i:]); ok; c, ok = in.char(data[i:]) {
			run = append(run, c)
			i += in.width
		}
		if len(run) < least {
			i = from + 1
			if in.width == 1 {
				i += len(run)
			}
			continue
		}
		if masked := m.utf8(run); !bytes.Equal(masked, run) {
			out, done = in.append(append(out, data[done:from]...), masked), i
		}
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}
