#!/usr/bin/env python3
"""A fleet in virtual time: machines with caches, a shared store, an origin. The policies are those of the service: what is fresh on the
disk is served, what is stale is confirmed by the origin, what is missing is looked for in the store, then asked of the origin under
a lease and uploaded. Neither sockets nor clocks, and the same seed gives the same figures.

An image is an original and its thumbnails, each a URL of its own; requests are Poisson, popularity is Zipf. Images do not depend
on each other, as nothing is evicted within a day: so a sample of them is simulated, by rank, and weighted. The first ranks are
all in it. Between two requests that are no hits nothing changes, and Poisson arrivals have no memory: what is a hit until a known
time is counted, not simulated.

  Benchmarks/fleet/simulation.py [--machines N] [--requests N] [--images N] [--seed N] [--sample N]
                                 [--get PRICE] [--put PRICE] [--storage PRICE] [--check]"""

import argparse
import bisect
import heapq
import itertools
import random
import sys
from dataclasses import dataclass, field, fields

DAY = 86_400.0


@dataclass(frozen=True)
class Policy:
    """The settings of a fleet; times in seconds."""

    machines: int = 3
    has_store: bool = True
    has_lease: bool = True
    # The lifetime of a response.
    ttl: float = DAY
    # From the request to the origin until the response has come, and until it is in the store.
    fetch_time: float = 0.2
    upload_time: float = 0.1
    # The balancer sends a URL to one machine; else any machine gets it.
    is_hashed: bool = True
    # Between two looks for invalidations.
    invalidation_interval: float = 2.0


@dataclass
class Counts:
    """Sums over images; weighted ones are no integers."""

    requests: float = 0
    # Whole responses and confirmations of the origin.
    origin_fetches: float = 0
    confirmations: float = 0
    rendered: float = 0
    reads: float = 0
    writes: float = 0
    # Of leases; the store does not charge for them.
    deletions: float = 0
    lease_waits: float = 0
    # Originals and thumbnails that the store has at the end.
    stored_originals: float = 0
    stored_thumbnails: float = 0

    def add(self, other: "Counts", weight: float = 1) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + weight * getattr(other, each.name))


@dataclass
class _Copy:
    """An original on a machine's disk, and its thumbnails there."""

    arrives: float
    fresh_until: float
    thumbnails: set = field(default_factory=set)


class Image:
    """One image in the whole fleet. Requests come in the order of their times."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.counts = Counts()
        self.copies: dict[int, _Copy] = {}
        # The original in the store: since when, and how long it is fresh. Thumbnails there: since when.
        self.stored: tuple[float, float] | None = None
        self.thumbnails: dict[object, float] = {}
        # When the present lease's response is in the store.
        self.leased_until = 0.0

    def hit_until(self, machine: int, size: object) -> float:
        """The time until which this request is a hit of the machine's disk; 0: it is none."""
        copy = self.copies.get(machine)
        if copy is None or (size is not None and size not in copy.thumbnails):
            return 0.0
        return copy.fresh_until

    def request(self, now: float, machine: int, size: object) -> None:
        """A request for the original (`None`) or one of its thumbnails."""
        self.counts.requests += 1
        came_from_origin = self._original(now, machine)
        copy = self.copies[machine]
        if size is None or size in copy.thumbnails:
            return
        copy.thumbnails.add(size)
        if self.policy.has_store and not came_from_origin:
            self.counts.reads += 1
            if self.thumbnails.get(size, now + 1) <= now:
                return
        self.counts.rendered += 1
        if self.policy.has_store:
            self.counts.writes += 1
            since = max(now, copy.arrives) + self.policy.upload_time
            self.thumbnails[size] = min(since, self.thumbnails.get(size, since))

    def _original(self, now: float, machine: int) -> bool:
        """Sees to the original on a machine's disk; true if all of it came from the origin for this request."""
        policy, copy = self.policy, self.copies.get(machine)
        if copy is not None:
            if now >= copy.fresh_until:
                self._confirm(now, copy)
            return False
        if not policy.has_store:
            self._fetch(now, machine)
            return True
        # The object, and the mark of its invalidations.
        self.counts.reads += 2
        if self._take(now, machine):
            return False
        if policy.has_lease and now < self.leased_until:
            self.counts.lease_waits += 1
            self.counts.writes += 1
            self.counts.reads += 2
            self._take(self.leased_until, machine)
            return False
        if policy.has_lease:
            self.counts.writes += 1
            self.counts.reads += 2
            self.counts.deletions += 1
            self.leased_until = now + policy.fetch_time + policy.upload_time
        self._fetch(now, machine)
        self.counts.writes += 1
        since = now + policy.fetch_time + policy.upload_time
        if self.stored is None or since < self.stored[0]:
            self.stored = (since, now + policy.ttl)
        return True

    def _take(self, now: float, machine: int) -> bool:
        """Takes the original from the store; one that is stale there is confirmed."""
        if self.stored is None or self.stored[0] > now:
            return False
        copy = self.copies[machine] = _Copy(now, self.stored[1])
        if now >= copy.fresh_until:
            self._confirm(now, copy)
        return True

    def _confirm(self, now: float, copy: _Copy) -> None:
        self.counts.confirmations += 1
        copy.fresh_until = now + self.policy.ttl
        if self.policy.has_store:
            # The confirmation is written back for the others.
            self.counts.writes += 1
            since = self.stored[0] if self.stored else now + self.policy.upload_time
            self.stored = (since, copy.fresh_until)

    def _fetch(self, now: float, machine: int) -> None:
        self.counts.origin_fetches += 1
        self.copies[machine] = _Copy(now + self.policy.fetch_time, now + self.policy.ttl)

    def end(self) -> Counts:
        self.counts.stored_originals = 1 if self.stored else 0
        self.counts.stored_thumbnails = len(self.thumbnails)
        return self.counts


def replay(policy: Policy, requests) -> Counts:
    """Simulates requests one by one: (time, machine, image, size) each, in the order of their times."""
    images: dict[object, Image] = {}
    for now, machine, name, size in requests:
        image = images.get(name)
        if image is None:
            image = images[name] = Image(policy)
        image.request(now, machine, size)
    total = Counts()
    for image in images.values():
        total.add(image.end())
    return total


def simulate_image(policy: Policy, rates: dict, seconds: float, numbers: random.Random, skips_hits: bool = True) -> Counts:
    """One image whose URLs (by size) are asked for so often a second."""
    image, events, expected = Image(policy), [], 0.0
    for size, rate in rates.items():
        machines = [numbers.randrange(policy.machines)] if policy.is_hashed else range(policy.machines)
        for machine in machines:
            own = rate / len(machines)
            expected += own * seconds
            heapq.heappush(events, (numbers.expovariate(own), machine, str(size), size, own))
    while events and events[0][0] < seconds:
        now, machine, name, size, rate = events[0]
        hit_until = image.hit_until(machine, size)
        if now >= hit_until or not skips_hits:
            image.request(now, machine, size)
            hit_until = image.hit_until(machine, size)
        start = max(now, hit_until) if skips_hits else now
        heapq.heapreplace(events, (start + numbers.expovariate(rate), machine, name, size, rate))
    counts = image.end()
    if skips_hits:
        counts.requests = expected
    return counts


def zipf(images: int, exponent: float) -> list[float]:
    """The cumulative popularity of ranks; exact for the first ones, then by the integral."""
    weights = [1 / rank ** exponent for rank in range(1, images + 1)]
    return list(itertools.accumulate(weights))


@dataclass(frozen=True)
class Load:
    requests: float = 1e9
    images: int = 10_000_000
    exponent: float = 0.9
    # A quarter of the requests are for originals, the rest for thumbnails.
    sizes: tuple = (None, 160, 320, 640)
    seconds: float = DAY


def sample(load: Load, count: int, numbers: random.Random) -> list[tuple[float, float]]:
    """Images as (requests, number of images that it stands for): the first ranks all, the rest drawn from bins of ranks."""
    first = min(count // 4, load.images)
    exponent = load.exponent
    cumulated = sum(rank ** -exponent for rank in range(1, first + 1))
    # Midpoint rule: exact to 1e-6 for ranks of some hundreds.
    integral = lambda rank: (rank + 0.5) ** (1 - exponent) / (1 - exponent)
    total = cumulated + integral(load.images) - integral(first)
    chosen = [(load.requests * rank ** -exponent / total, 1.0) for rank in range(1, first + 1)]
    bins = 40
    edges = [round(first * (load.images / first) ** (index / bins)) for index in range(bins + 1)] if first < load.images else []
    for low, high in zip(edges, edges[1:]):
        each = max(1, (count - first) // bins)
        if high <= low:
            continue
        ranks = [numbers.uniform(low + 0.5, high + 0.5) for _ in range(each)]
        # The bin's requests are kept: only their distribution is sampled.
        share = (integral(high) - integral(low)) / total * load.requests
        drawn = [rank ** -exponent for rank in ranks]
        factor = share / (high - low) / (sum(drawn) / each)
        chosen += [(value * factor, (high - low) / each) for value in drawn]
    return chosen


def simulate(policy: Policy, load: Load, count: int, seed: int) -> Counts:
    """A day of a fleet, from a sample of images, with warm disks of the day before left out: it begins with empty caches."""
    numbers = random.Random(seed)
    total = Counts()
    for requests, weight in sample(load, count, numbers):
        rate = requests / load.seconds / len(load.sizes)
        total.add(simulate_image(policy, {size: rate for size in load.sizes}, load.seconds, numbers), weight)
    if policy.has_store:
        total.reads += policy.machines * load.seconds / policy.invalidation_interval
    return total


@dataclass(frozen=True)
class Prices:
    """Dollars: S3 Standard, us-east-1, list prices of November 2026, for a million GET and PUT and for a GB and month."""

    get: float = 0.40
    put: float = 5.00
    storage: float = 0.023

    def requests(self, counts: Counts) -> float:
        return (counts.reads * self.get + counts.writes * self.put) / 1e6

    def storage_a_day(self, counts: Counts, original: float, thumbnail: float) -> float:
        gigabytes = (counts.stored_originals * original + counts.stored_thumbnails * thumbnail) / 1e9
        return gigabytes * self.storage / 30


# MARK: Checks

def _near(what: str, value: float, expected: float, tolerance: float) -> None:
    difference = abs(value - expected) / max(abs(expected), 1e-12)
    if difference > tolerance:
        sys.exit(f"{what}: {value:.4g}, expected {expected:.4g} within {tolerance:.0%}")
    print(f"{what}: {value:.4g}, expected {expected:.4g}")


def check(seed: int = 1) -> None:
    """Compares the simulation with closed forms, and what it skips with what it does not."""
    # One machine without a store: a renewal each lifetime and mean wait for the next request.
    numbers = random.Random(seed)
    policy = Policy(machines=1, has_store=False, ttl=50, fetch_time=0)
    counts = simulate_image(policy, {None: 0.1}, 6e5, numbers)
    _near("renewals of one machine", counts.origin_fetches + counts.confirmations, 6e5 / (50 + 10), 0.03)
    # Without a store each machine that is asked for it fetches an image.
    policy = Policy(machines=8, has_store=False, is_hashed=False)
    counts = Counts()
    for _ in range(2000):
        counts.add(simulate_image(policy, {None: 4 / DAY}, DAY, numbers))
    _near("machines that ask", counts.origin_fetches, 2000 * 8 * (1 - 2.718281828 ** (-4 / 8)), 0.03)
    # With a store and leases one request for an image, without leases one for each machine that asks meanwhile.
    policy = Policy(machines=8, is_hashed=False, fetch_time=5, upload_time=5)
    _near("with a lease", simulate_image(policy, {None: 8}, 100, numbers).origin_fetches, 1, 0)
    policy = Policy(machines=8, is_hashed=False, fetch_time=5, upload_time=5, has_lease=False)
    _near("without one", simulate_image(policy, {None: 800}, 100, numbers).origin_fetches, 8, 0)
    # What is skipped changes no expectation.
    for policy in (Policy(machines=4, ttl=400), Policy(machines=4, ttl=400, is_hashed=False, has_lease=False)):
        sums = []
        for skips in (True, False):
            total = Counts()
            for _ in range(600):
                total.add(simulate_image(policy, {None: 0.002, 1: 0.004, 2: 0.001}, 10_000, numbers, skips))
            sums.append(total)
        for name in ("requests", "origin_fetches", "confirmations", "rendered", "reads", "writes"):
            _near(f"{name}, skipping", getattr(sums[0], name), getattr(sums[1], name), 0.05)
    # A sample stands for all images.
    load = Load(requests=400_000, images=20_000, sizes=(None, 1))
    whole, part = (simulate(Policy(machines=3), load, count, seed) for count in (80_000, 2_000))
    for name in ("requests", "origin_fetches", "rendered", "writes"):
        _near(f"{name}, of a sample", getattr(part, name), getattr(whole, name), 0.05)
    _near("a price", Prices().requests(Counts(reads=1e6, writes=2e6)), 10.4, 1e-9)


# MARK: The table

def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=100, help="(default: 100)")
    parser.add_argument("--requests", type=float, default=1e9, help="a day (default: 1e9)")
    parser.add_argument("--images", type=int, default=10_000_000, help="(default: 10,000,000)")
    parser.add_argument("--sample", type=int, default=2000, help="images that are simulated (default: 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--original", type=float, default=500e3, help="bytes (default: 500,000)")
    parser.add_argument("--thumbnail", type=float, default=20e3, help="bytes (default: 20,000)")
    parser.add_argument("--get", type=float, default=Prices.get, help="dollars for a million (default: 0.40)")
    parser.add_argument("--put", type=float, default=Prices.put, help="dollars for a million (default: 5.00)")
    parser.add_argument("--storage", type=float, default=Prices.storage, help="dollars for a GB and month (default: 0.023)")
    parser.add_argument("--check", action="store_true", help="compares it with closed forms")
    options = parser.parse_args()
    if options.check:
        return check(options.seed)
    load = Load(requests=options.requests, images=options.images)
    prices = Prices(options.get, options.put, options.storage)
    print("| balancer, store, lifetime | origin: whole, millions | confirmed, millions | TB | rendered, millions | store: reads, millions "
          "| writes, millions | requests, $ | storage, $ |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    hour, day = DAY / 24, DAY
    rows = []
    for is_hashed in (True, False):
        for has_store, has_lease, ttl in (
            (False, False, day), (True, True, day), (True, False, day), (False, False, hour), (True, True, hour)):
            rows.append(Policy(options.machines, has_store, has_lease, ttl=ttl, is_hashed=is_hashed))
    # An origin that takes ten seconds: how long several machines may miss the same image.
    rows += [Policy(options.machines, has_lease=has_lease, is_hashed=False, fetch_time=10) for has_lease in (True, False)]
    for policy in rows:
        counts = simulate(policy, load, options.sample, options.seed)
        name = ", ".join([
            "by URL" if policy.is_hashed else "any machine",
            "none" if not policy.has_store else "store" if policy.has_lease else "store without leases",
            "1 day" if policy.ttl == day else "1 hour"]) + (", slow origin" if policy.fetch_time > 1 else "")
        millions = lambda value: f"{value / 1e6:,.2f}"
        print(f"| {name} | {millions(counts.origin_fetches)} | {millions(counts.confirmations)} "
              f"| {counts.origin_fetches * options.original / 1e12:.2f} | {millions(counts.rendered)} | {millions(counts.reads)} "
              f"| {millions(counts.writes)} | {prices.requests(counts):,.2f} "
              f"| {prices.storage_a_day(counts, options.original, options.thumbnail):,.2f} |", flush=True)


if __name__ == "__main__":
    main()
