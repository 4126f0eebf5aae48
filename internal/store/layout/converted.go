package layout

import "bytes"

// Unconverted returns the content of a file in which git has changed the line ends of the committed content, as
// core.autocrlf and attributes ask for: the committed content, and whatever was added to the file since.
func Unconverted(data, committed []byte) ([]byte, bool) {
	rest, changed := data, false
	for line := range bytes.Lines(committed) {
		end := min(len(rest), len(line))
		if bytes.Equal(rest[:end], line) {
			rest = rest[end:]
			continue
		}
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		if !ended || !bytes.HasPrefix(rest, text) || !bytes.HasPrefix(rest[len(text):], []byte("\r\n")) {
			return nil, false
		}
		rest, changed = rest[len(text)+2:], true
	}
	return append(bytes.Clone(committed), rest...), changed
}
