package host

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// content masks the content of one file.
type content struct {
	*Masker
	left int // how many more secrets it may have; below 0: it had too many
}

// Content masks the content of a file. Text in UTF-8 or UTF-16 is masked as a whole; in any other content,
// only readable parts are masked, and the other bytes stay. With too many secrets, a mark replaces all of it.
func (m *Masker) Content(data []byte) []byte {
	c := &content{m, maxSecrets}
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
	order, from := utf16Order(data)
	plain := utf8.Valid(data)
	switch {
	case order != nil:
		data = m.utf16(data, from, order)
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

// utf16Order recognises a text in UTF-16, by its byte order mark or its zeros. The text begins at from. order
// is nil for any other content.
func utf16Order(data []byte) (order binary.AppendByteOrder, from int) {
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

func (m *content) utf16(data []byte, from int, order binary.AppendByteOrder) []byte {
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

// encoding is how a readable character is stored in binary data: as one byte, or with a zero beside it. width
// is the number of bytes, and at the place of the byte that is not zero.
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

// readable masks the sequences of readable characters in binary data.
func (m *content) readable(data []byte, in encoding) []byte {
	const least = 6 // characters of the shortest sequence that can have a secret
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
