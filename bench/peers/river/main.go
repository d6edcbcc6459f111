// River: workers fetch by notification, with its shortest pause between fetches.
// The interface is described in ../README.md, and is the same as that of load.h.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	payloadSize = 200
	messagesMax = 1 << 23
	warmUp      = 400
	waitLimit   = 120 * time.Second
	maxWorkers  = 200
)

var (
	base       = time.Now()
	handled    [messagesMax]atomic.Int64 // when first; 0: not yet
	count      atomic.Int64
	last, next atomic.Int64
)

func now() int64 { return int64(time.Since(base)) + 1 }

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type message struct {
	ID  int64  `json:"id"`
	Pad string `json:"pad"`
}

func (message) Kind() string { return "bench" }

func newMessage(id int64) message {
	empty, err := json.Marshal(message{ID: id})
	must(err)
	return message{ID: id, Pad: strings.Repeat("x", payloadSize-len(empty))}
}

type worker struct {
	river.WorkerDefaults[message]
}

func (*worker) Work(_ context.Context, job *river.Job[message]) error {
	at := now()
	if handled[job.Args.ID].CompareAndSwap(0, at) {
		last.Store(at)
		count.Add(1)
	}
	return nil
}

func awaitAll() {
	end := time.Now().Add(waitLimit)
	for count.Load() < next.Load() {
		if time.Now().After(end) {
			must(fmt.Errorf("not all messages were delivered"))
		}
		time.Sleep(time.Millisecond)
	}
}

func main() {
	ctx := context.Background()
	options := map[string]string{"conns": "1", "batch": "1", "seconds": "1", "rate": "0"}
	for _, argument := range os.Args[1:] {
		name, value, _ := strings.Cut(argument, "=")
		options[name] = value
	}
	number := func(name string) int64 {
		value, err := strconv.ParseInt(options[name], 10, 64)
		must(err)
		return value
	}
	batch, conns := number("batch"), int(number("conns"))

	config, err := pgxpool.ParseConfig(options["url"])
	must(err)
	config.MaxConns = int32(conns + 12)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	must(err)
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		FetchCooldown:     time.Millisecond,
		FetchPollInterval: 50 * time.Millisecond,
		Workers:           workers,
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	must(err)
	must(client.Start(ctx))

	send := func(size int64) {
		first := next.Add(size) - size
		must(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if size == 1 {
				_, err := client.InsertTx(ctx, tx, newMessage(first), nil)
				return err
			}
			jobs := make([]river.InsertManyParams, size)
			for i := range jobs {
				jobs[i].Args = newMessage(first + int64(i))
			}
			_, err := client.InsertManyFastTx(ctx, tx, jobs)
			return err
		}))
	}
	for sent := int64(0); sent < warmUp; sent += batch {
		send(batch)
	}
	awaitAll()
	time.Sleep(300 * time.Millisecond)
	if options["task"] == "latency" {
		measureLatency(number("rate"), number("seconds"), func() { send(1) })
	} else {
		measureStream(conns, number("seconds"), func() { send(batch) })
	}
	stopping, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = client.Stop(stopping)
}

func measureLatency(rate, seconds int64, send func()) {
	first, start := next.Load(), time.Now()
	times := make([]float64, rate*seconds)
	for i := range times {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		send()
		times[i] = float64(now())
	}
	achieved := float64(len(times)) / time.Since(start).Seconds()
	awaitAll()
	for i := range times {
		times[i] = max(0, float64(handled[first+int64(i)].Load())-times[i]) / 1e6
	}
	slices.Sort(times)
	fmt.Printf("{\"n\": %d, \"rate\": %.1f, \"p50\": %.3f, \"p99\": %.3f}\n", len(times), achieved,
		times[len(times)/2], times[len(times)*99/100])
}

func measureStream(conns int, seconds int64, send func()) {
	first, start := next.Load(), now()
	var producers sync.WaitGroup
	for range conns {
		producers.Add(1)
		go func() {
			defer producers.Done()
			for now() < start+seconds*int64(time.Second) {
				send()
			}
		}()
	}
	producers.Wait()
	awaitAll()
	sent := next.Load() - first
	fmt.Printf("{\"n\": %d, \"rate\": %.1f}\n", sent, float64(sent)*1e9/float64(last.Load()-start))
}
