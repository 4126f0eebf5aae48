package host

import (
	"errors"
	"strconv"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/sessions/filter"
)

// numberOf reads a number, and lowers it to limit if it is greater. A number that is missing, 0 or negative
// becomes byDefault.
func numberOf(param func(name string) string, name string, byDefault, limit int64) (int64, error) {
	text := param(name)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"):
		n = limit
	case errors.Is(err, strconv.ErrRange):
		n = 0
	case err != nil:
		return 0, api.Invalid("%s is not a number: %.40q", name, text)
	}
	return filter.Capped(n, byDefault, limit), nil
}

// flagOf reads a parameter that is true or false; a missing one is false.
func flagOf(param func(name string) string, name string) (bool, error) {
	switch param(name) {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, api.Invalid("%s has to be true or false", name)
}
