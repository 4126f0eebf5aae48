package cli

import (
	"time"

	"tape/cmd/internal/stdio"
)

// Short names for the JSON and the lists that commands write.
type (
	object         = stdio.Object
	member         = stdio.Member
	listing[T any] = stdio.Listing[T]
)

func objects[T any](items []T, describe func(T) object) []object {
	return stdio.Objects(items, describe)
}
func orNull[T comparable](value T) any { return stdio.OrNull(value) }
func marshal(v any) []byte             { return stdio.Marshal(v) }
func dateOrNull(t time.Time) any       { return stdio.DateOrNull(t) }
