"""The speed report runs to its end at a tiny size and names each figure."""

import pytest

from zelkova.networks.speed import SpeedConfig, measure_engines


def test_every_engine_is_reported() -> None:
    pytest.importorskip("openvino")
    pytest.importorskip("onnxruntime")
    config = SpeedConfig(networks=((8, 1),), batches=(4,), seconds=0.02, rounds=1)
    records = measure_engines(config)
    rates = {
        record["params"]["engine"]: record["value"]
        for record in records
        if record["name"] == "network/evaluations_per_s"
    }
    assert {name.split()[0] for name in rates} == {"openvino", "torch", "onnxruntime"}
    assert min(rates.values()) > 0
    errors = [record["value"] for record in records if record["name"] == "network/policy_error"]
    assert len(errors) == 3
    assert max(errors) < 0.05
    chosen = [r for r in records if r["name"] == "network/load_s" and r["params"]["is_chosen"]]
    assert [record["params"]["engine"].split()[0] for record in chosen] == ["openvino"]
