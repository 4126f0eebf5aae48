// Package purge takes texts out of a tape for good.
package purge
