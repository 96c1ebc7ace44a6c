"""What comparisons take from matrix products: the floor, the core of OpenBLAS, and
the share of a PyTorch.  Nothing is measured."""

import collections
import os
import sys
import unittest
import unittest.mock

PERF = os.path.join(os.environ.get("srcdir", "."), "perf")
sys.path.insert(0, PERF)

from bench import cases, comparison, figures, machine, theirs  # noqa: E402
from bench.ours import Failure  # noqa: E402

CASE = cases.CASES["4x64"]
NAMES = figures.product_names(CASE)


def at(rate):
    return dict.fromkeys(NAMES, rate)


class Products(unittest.TestCase):
    def setUp(self):
        """Ours has 100 GF/s, 300 in bf16; a PyTorch has what self.rate() says."""
        self.comparison = comparison.Comparison.__new__(comparison.Comparison)
        self.comparison.say = lambda text: None
        self.comparison.ours = unittest.mock.Mock()
        self.comparison.ours.rates = lambda threads, names, numbers="", blas=None: (
            "a BLAS",
            at(300 if numbers else 100),
        )
        for where, name, new in (
            (machine, "blas_cores", lambda: ["Haswell", "SkylakeX"]),
            (theirs, "rates", lambda s, names, numbers="": self.rate(s, numbers)),
        ):
            patch = unittest.mock.patch.object(where, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def use(self, *own_blas):
        self.comparison.peers = [
            comparison.Peer(
                theirs.Setting(str(i), str(i), None), {"own_blas": own}
            )
            for i, own in enumerate(own_blas)
        ]
        return self.comparison.peers

    def test_the_floor_has_the_fastest_products_of_all(self):
        self.use(True, True)
        self.rate = lambda setting, numbers: {
            **at(90),
            NAMES[int(setting.python)]: 120 + int(setting.python),
        }
        found = self.comparison.measure_products(CASE, 2)
        self.assertEqual(found, {**at(100), NAMES[0]: 120, NAMES[1]: 121})

    def test_in_bf16_floor_and_share_are_those_of_bf16(self):
        (peer,) = self.use(True)
        self.rate = lambda setting, numbers: at(150 if numbers else 100)
        found = self.comparison.measure_products(CASE, 2, bf16=True)
        self.assertEqual(found, at(300))
        self.assertAlmostEqual(peer.share, 0.5)

    def test_where_ours_has_no_bf16_products_those_in_fp32_count(self):
        def rates(threads, names, numbers="", blas=None):
            if numbers:
                raise Failure("gemm: no product here")
            return "a BLAS", at(100)

        (peer,) = self.use(True)
        self.comparison.ours.rates = rates
        self.rate = lambda setting, numbers: at(150 if numbers else 100)
        found = self.comparison.measure_products(CASE, 2, bf16=True)
        self.assertEqual(found, at(150))
        self.assertAlmostEqual(peer.share, 1.5)

    def test_the_fastest_core_of_openblas_is_taken(self):
        (peer,) = self.use(False)
        self.rate = lambda setting, numbers: at(
            95 if setting.core == "SkylakeX" else 60
        )
        self.comparison.measure_products(CASE, 2)
        self.assertEqual(peer.setting.core, "SkylakeX")
        self.assertAlmostEqual(peer.share, 0.95)

    def test_an_openblas_is_held_against_ours_not_against_a_jobs_blas(self):
        self.comparison.ours.rates = lambda threads, names, blas=None: (
            "a BLAS",
            at(100 if blas == "default" else 250),
        )
        (peer,) = self.use(False)
        self.rate = lambda setting, numbers: at(95)
        self.assertEqual(self.comparison.measure_products(CASE, 2), at(250))
        self.assertAlmostEqual(peer.share, 0.38)

    def test_a_share_compares_as_many_runs_of_each(self):
        """The core that is detected is slow; so all attempts are made."""
        runs = collections.Counter()

        def rates(threads, names, numbers="", blas=None):
            runs["ours", numbers, blas] += 1
            return "a BLAS", at(100)

        def rate(setting, numbers):
            runs["theirs", numbers, setting.core] += 1
            return at(60)

        self.comparison.ours.rates, self.rate = rates, rate
        self.use(False)
        with self.assertRaises(Failure):
            self.comparison.measure_products(CASE, 2)
        self.assertEqual(len(runs), 2 + 3)
        self.assertEqual(set(runs.values()), {comparison.ATTEMPTS})
        runs.clear()
        self.use(True, True)
        self.comparison.measure_bf16(CASE, 2)
        self.assertEqual(set(runs.values()), {2 * comparison.ATTEMPTS})

    def test_a_share_has_only_the_runs_beside_it(self):
        """Our first run is fast, and counts for the first PyTorch and the
        floor."""
        for bf16 in False, True:
            fast = {"": at(200), "bf16-": at(200)}
            self.comparison.ours.rates = (
                lambda threads, names, numbers="", blas=None: (
                    "a BLAS", fast.pop(numbers, at(100)))
            )
            self.rate = lambda setting, numbers: at(100)
            peers = self.use(True, True)
            found = self.comparison.measure_products(CASE, 2, bf16)
            self.assertEqual(found, at(200))
            self.assertAlmostEqual(peers[0].share, 0.5)
            self.assertAlmostEqual(peers[1].share, 1)

    def test_an_openblas_that_is_slow_by_mistake_is_refused(self):
        self.use(False)
        self.rate = lambda setting, numbers: at(60)
        with self.assertRaises(Failure):
            self.comparison.measure_products(CASE, 2)


if __name__ == "__main__":
    unittest.main()
