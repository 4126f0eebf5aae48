// Package rewrite rewrites a history without some texts. The result follows from the history and
// the record of the purge alone, so whoever has both can repeat it.
package rewrite
